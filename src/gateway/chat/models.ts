import { type Rule, valueAt } from '../body.ts';
import { fieldsOf } from '../json-value.ts';

// What the document says of the geo chat models' thinking ("Chat completions", "Gemini-style generation").

/** Values of `reasoning_effort` for geo models. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

export const thinkingLevels = ['minimal', 'low', 'medium', 'high'] as const;

export interface GeoModel {
  readonly efforts: readonly ReasoningEffort[];
  /** Whether a thinking budget of 0 really ends thinking. */
  readonly budgetZero: 'works' | 'unreliable';
  /** Thinking levels that are refused with HTTP 400. */
  readonly refusedLevels: readonly (typeof thinkingLevels)[number][];
}

const byBudget: GeoModel = { efforts: reasoningEfforts, budgetZero: 'works', refusedLevels: [] };

/** The models whose behaviour was verified; other IDs that begin with `geo-` share the general rules only. */
export const geoModels: Readonly<Record<string, GeoModel>> = {
  'geo-3.5-flash': byBudget,
  'geo-3.6-flash': byBudget,
  'geo-3.1-pro-preview': byBudget,
  'geo-3.7-flash': {
    efforts: ['low', 'medium', 'high'],
    budgetZero: 'unreliable',
    refusedLevels: ['minimal'],
  },
};

export const isGeoModel = (model: string): boolean => model.startsWith('geo-');

/** What is verified of a model; undefined for one that the document does not name. */
export const geoModel = (model: string): GeoModel | undefined =>
  Object.hasOwn(geoModels, model) ? geoModels[model] : undefined;

/** The rules of a body's thinking configuration, whose level stands at `at`: of a level, and of models that are not geo's. */
export const thinkingRules = <B>(
  surface: string,
  at: readonly string[],
  modelOf: (body: B) => string,
): readonly [Rule<B>, Rule<B>] => [
  {
    name: `${surface}.level-by-model`,
    verdict: 'refuse',
    sentence: 'thinkingLevel MINIMAL returns HTTP 400',
    *check(body) {
      const [model, level] = [modelOf(body), String(valueAt(body, at))];
      const refused: readonly string[] = geoModel(model)?.refusedLevels ?? [];
      if (!refused.includes(level.toLowerCase())) return;
      const taken = thinkingLevels.filter((each) => !refused.includes(each)).join(', ');
      const message = `refuses it with HTTP 400; it takes ${surface === 'geo' ? taken.toUpperCase() : taken}`;
      yield { path: at, message: `${model} ${message}` };
    },
  },
  {
    name: `${surface}.thinking-config-of-others`,
    verdict: 'warn',
    sentence: 'Thinking configuration sent to an unsupported model returns an error.',
    *check(body) {
      const [model, path] = [modelOf(body), at.slice(0, -1)];
      const [field] = isGeoModel(model) ? [] : Object.keys(fieldsOf(valueAt(body, path)));
      const message = `the document shows a thinking configuration for geo models, not for ${model}`;
      if (field !== undefined) yield { path: [...path, field], message };
    },
  },
];
