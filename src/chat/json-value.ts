import { isObject } from '../host.ts';
import { jsonIn } from '../http/parse-json.ts';

// Replies are read by hand: a schema for each event of a stream would cost more than all the rest.

type Fields = Readonly<Record<string, unknown>>;

/** An object's fields; none for anything else. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** An object without the fields that are undefined. */
export function given(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The JSON of a tool call's arguments as a value; an empty object where there is none or it is cut. */
export function argumentsOf(text: string): Record<string, unknown> {
  const value = jsonIn(text);
  return isObject(value) ? value : {};
}

/** Arguments that came as a value, as the JSON text that all surfaces share. */
export const argumentsText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? {});
