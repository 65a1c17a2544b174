import { fieldsOf } from './json-value.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The schema inside a file that is a whole `response_format` already (`{"type":"json_schema","json_schema":{…}}`);
 * undefined for a file that is the schema itself.
 */
export function wrappedSchema(format: Fields): Fields | undefined {
  const { type, json_schema: wrapped } = fieldsOf(format);
  const { schema } = fieldsOf(wrapped);
  return type === 'json_schema' && typeof schema === 'object' && schema !== null
    ? fieldsOf(schema)
    : undefined;
}
