import { rowFields } from '../batch/rows.ts';
import { defineCommand } from '../command.ts';
import { errorKinds, usage } from '../errors.ts';
import { type Flag, type FlagSet, flagName, withValue } from '../flags/flag.ts';
import { MAX_COUNT } from '../flags/job-flags.ts';
import { nearest } from '../flags/nearest.ts';
import type { ErrorReport } from '../io/error-lines.ts';
import type { RowResult } from './batch/report.ts';
import { creates } from './batch/row-command.ts';
import type { JobResult } from './video/follow-job.ts';

// JSON Schema of gw's input and output, for editors and scripts; the input schemas are made from the flags.

type Schema = Readonly<Record<string, unknown>>;

const draft = { $schema: 'https://json-schema.org/draft/2020-12/schema' };
const textOrNumber: Schema = { type: ['string', 'number'] };

/** The schema of a flag's value as a field; numeric choices may be written as numbers. */
export function valueSchema(key: string, { value, choices, list, summary }: Flag): Schema {
  if (value === undefined) return { type: 'boolean', description: summary };
  // Model names are open, because the gateway may add some.
  const isOpen = choices === undefined || key === 'model';
  const numbers = (choices ?? []).filter((word) => /^-?\d+$/.test(word)).map(Number);
  const one: Schema = isOpen
    ? { ...textOrNumber, ...(choices && { examples: choices }) }
    : { enum: [...choices, ...numbers] };
  const whole = list ? { anyOf: [one, { type: 'array', items: one }] } : one;
  return { description: summary, ...whole };
}

/** Each flag under its long name in both spellings; `unsaid` is removed from the descriptions. */
function properties(flags: readonly (readonly [string, Flag])[], unsaid = ''): Schema {
  const named = flags.flatMap(([key, flag]): [string, Schema][] => {
    const name = flagName(key).slice(2);
    const schema = valueSchema(key, { ...flag, summary: flag.summary.replace(unsaid, '') });
    const names = flag.negatable || flag.negativeOnly ? [name, `no-${name}`] : [name];
    return names.flatMap((each): [string, Schema][] => [
      [each, schema],
      [each.replaceAll('-', '_'), schema],
    ]);
  });
  return Object.fromEntries(named);
}

const createSchema = (words: string, flags: FlagSet): Schema => ({
  ...draft,
  title: `gw ${words}`,
  type: 'object',
  properties: properties(Object.entries(flags)),
  additionalProperties: false,
});

const ownProperties: Schema = {
  id: { ...textOrNumber, description: 'names the row: its job is made once for it' },
  skip: { enum: [true, false, 'true', 'false'], description: 'true leaves the row out' },
  count: { type: 'integer', minimum: 1, maximum: MAX_COUNT, description: 'so many jobs of the same row' },
  set: { type: 'object', description: 'fields of the request body, by their paths' },
  body: { type: 'object', description: 'the request body to start from' },
};

const rowSchema = (): Schema => ({
  ...draft,
  title: 'a row of a gw batch',
  anyOf: Object.entries(creates).map(([words, flags]) => ({
    type: 'object',
    properties: {
      command: { const: words, description: 'the command of the row; --command where it is left out' },
      ...ownProperties,
      ...properties(rowFields(flags), '; - is stdin'),
    },
    additionalProperties: false,
  })),
});

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const dateTime: Schema = { type: 'string', format: 'date-time' };

const fileSchema: Schema = {
  type: 'object',
  properties: { path: text, bytes: count, sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' }, type: text },
  required: ['path', 'bytes', 'sha256', 'type'],
};

const resultProperties = {
  family: text,
  id: text,
  status: text,
  record: { description: "the gateway's last record as it came" },
  files: { type: 'array', items: fileSchema },
} satisfies Record<keyof JobResult, Schema>;

const errorProperties = {
  kind: { enum: [...Object.keys(errorKinds), 'interrupted'] },
  message: text,
  hint: text,
  exit_code: count,
  status: count,
  type: text,
  code: text,
  request_id: text,
  task_id: text,
  retry_at: dateTime,
} satisfies Record<keyof ErrorReport, Schema>;

const errorSchema: Schema = {
  type: 'object',
  properties: errorProperties,
  required: ['kind', 'message', 'exit_code'],
};

/** The row of a batch result; jobs of another machine have no key here. */
const rowProperties = { row: count, line: count, row_key: text, key: { type: ['string', 'null'] } };

const rowResultProperties = {
  ...rowProperties,
  ...resultProperties,
  id: { type: ['string', 'null'] },
  error: { anyOf: [{ type: 'null' }, errorSchema] },
} satisfies Record<keyof RowResult, Schema>;

const whole = (title: string, fields: Schema): Schema => ({
  ...draft,
  title,
  type: 'object',
  properties: fields,
  required: Object.keys(fields),
});

const eventFields: Readonly<Record<string, Schema>> = {
  intent: { model: text },
  accepted: { status: text },
  status: { status: text },
  download: { role: text, bytes: count, total: count },
  saved: { role: text, ...(fileSchema.properties as Schema) },
  failed: { error: errorSchema },
  unknown: { error: errorSchema },
  // A batch row that was not sent has no ID.
  result: { ...resultProperties, id: { type: ['string', 'null'] } },
};

const eventSchema = (): Schema => ({
  ...draft,
  title: 'a line of --events',
  anyOf: [
    ...Object.entries(eventFields).map(([event, fields]) => ({
      type: 'object',
      properties: {
        event: { const: event },
        t: dateTime,
        ...rowProperties,
        family: text,
        id: text,
        ...fields,
      },
      required: ['event', 't', 'family', 'key'],
    })),
    // The first line of gw listen belongs to no job.
    {
      type: 'object',
      properties: { event: { const: 'listening' }, t: dateTime, url: text },
      required: ['event', 't', 'url'],
    },
  ],
});

const schemas: Readonly<Record<string, () => Schema>> = {
  ...Object.fromEntries(
    Object.entries(creates).map(([words, flags]) => {
      const command = words.startsWith('video') ? `${words} create` : words;
      return [command, () => createSchema(command, flags)];
    }),
  ),
  batch: rowSchema,
  result: () => whole('what --json prints of a job', resultProperties),
  'batch result': () => whole('what gw batch run --json prints of a row', rowResultProperties),
  events: eventSchema,
  error: () => ({
    ...draft,
    title: 'what --json prints of an error',
    type: 'object',
    properties: { error: errorSchema },
    required: ['error'],
  }),
};

/** `gw schema [COMMAND…]` prints the schema of a create's flags, a batch row, --json or --events. */
export const schema = defineCommand({
  args: {
    name: 'COMMAND',
    summary: `${Object.keys(schemas).join(', ')}; without one these names are listed`,
    many: true,
    choices: [...new Set(Object.keys(schemas).map((name) => name.split(' ')[0] ?? ''))],
  },
  examples: ['gw schema video alpha create > alpha.schema.json', 'gw schema batch > row.schema.json'],
  human: (value: Schema | readonly string[]) =>
    Array.isArray(value) ? `${value.join('\n')}\n` : `${JSON.stringify(value, null, 2)}\n`,
  async run({ args }) {
    if (args.length === 0) return { value: Object.keys(schemas) };
    const words = args
      .join(' ')
      .replace(/^gw /, '')
      .replace(/^batch (check|run|row)$/, 'batch');
    const known = Object.keys(schemas);
    const name = known.find((each) => each === words || each === `${words} create`);
    const make = name === undefined ? undefined : schemas[name];
    if (make) return { value: make() };
    const [near] = nearest(words, known);
    throw usage(
      withValue('no schema of', words.slice(0, 60)),
      near ? `did you mean gw schema ${near}?` : 'gw schema lists what there is',
    );
  },
});
