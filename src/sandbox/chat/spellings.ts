import { field } from './field.ts';

// What the public clients of the three formats send in another spelling than the document's, and mean the same. A strict
// sandbox takes the document's spelling only.

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const mapList = (value: unknown, each: (item: unknown) => unknown): unknown =>
  Array.isArray(value) ? value.map(each) : value;
/** An object with a field rewritten, where it has it. */
const change = (of: Fields, name: string, rewrite: (value: unknown) => unknown): Fields =>
  Object.hasOwn(of, name) ? { ...of, [name]: rewrite(of[name]) } : of;

/** Chat completions: `developer` is what the role `system` is called now. */
export function respellCompletions(body: unknown): unknown {
  if (!isObject(body)) return body;
  const respellMessage = (message: unknown) =>
    field(message, 'role') === 'developer' ? { ...(message as Fields), role: 'system' } : message;
  return change(body, 'messages', (messages) => mapList(messages, respellMessage));
}

/** Native messages: thinking that is `disabled` is no thinking. */
export function respellMessages(body: unknown): unknown {
  if (!isObject(body) || field(body, 'thinking', 'type') !== 'disabled') return body;
  const { thinking: _, ...rest } = body;
  return rest;
}

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
/** The fields whose values are the caller's own, down to the last name in them. */
const opaque = new Set(['args', 'response', 'parameters', 'parametersJsonSchema', 'responseSchema']);

/** Gemini-style generation: its JSON is taken with underscores too, and a JSON schema stands for the other kind. */
export function respellGeo(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(respellGeo);
  if (!isObject(body)) return body;
  const spelled = Object.entries(body).map(([written, value]) => {
    const camel = camelCase(written);
    const name = camel === 'responseJsonSchema' ? 'responseSchema' : camel;
    return [name, opaque.has(name) ? value : respellGeo(value)] as const;
  });
  return change(Object.fromEntries(spelled), 'role', (role) =>
    role === 'function' || role === 'tool' ? 'user' : role,
  );
}
