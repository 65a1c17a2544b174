import { type Fields, fieldsOf } from '../gateway/json-value.ts';
import { jsonIn } from '../http/parse-json.ts';

// Replies are read by hand: a schema for each event of a stream would cost more than all the rest.

/** An object without the fields that are undefined. */
export function given(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The JSON of a tool call's arguments as a value; an empty object where there is none or it is cut. */
export function argumentsOf(text: string): Record<string, unknown> {
  return { ...fieldsOf(jsonIn(text)) };
}

/** Arguments that came as a value, as the JSON text that all surfaces share. */
export const argumentsText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? {});
