import { alphaOutputs } from './alpha/outputs.ts';
import { betaOutputs } from './beta/products.ts';
import { gammaOutputs } from './gamma/outputs.ts';
import { imageOutputs } from './image/links.ts';
import type { OutputSource } from './output-source.ts';

/** Whose files the output listener sends, asked in this order. */
export const outputSources: readonly OutputSource[] = [alphaOutputs, betaOutputs, gammaOutputs, imageOutputs];
