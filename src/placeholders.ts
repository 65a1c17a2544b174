/** What `-o` may ask for in braces: the pattern's reader, help and messages take the names from here. */
export const placeholders = [
  'id',
  'family',
  'model',
  'index',
  'date',
  'time',
  'ext',
  'prompt',
  'seed',
  'duration',
  'resolution',
  'key',
  'row',
] as const;
export type Placeholder = (typeof placeholders)[number];

/** As people read them. */
export const placeholderList = placeholders.map((name) => `{${name}}`).join(' ');
