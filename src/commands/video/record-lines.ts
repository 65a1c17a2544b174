import { oneLine } from '../../io/escape.ts';
import type { TaskLook } from '../../jobs/look.ts';

/**
 * A task record for people: one field a line, without the links, which are credentials. What the gateway wrote can begin no
 * line of its own.
 */
export function recordLines({ view, record }: TaskLook, saveCommand: (id: string) => string): string {
  const rows = [...fieldsOf(record, '')].filter(([, value]) => !/^https?:\/\//.test(value));
  for (const output of view.outputs) rows.push([output.role, `ready; save it with: ${saveCommand(view.id)}`]);
  const safe = rows.map((row) => row.map((text) => oneLine(text)));
  const width = Math.max(...safe.map(([name = '']) => name.length), 0);
  return safe.map(([name = '', value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

function* fieldsOf(value: unknown, name: string): Generator<[string, string]> {
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value))
      yield* fieldsOf(inner, name === '' ? key : `${name}.${key}`);
  } else if (value !== undefined && value !== null) {
    yield [name, typeof value === 'number' ? numberText(name, value) : String(value)];
  }
}

/** A moment as a date too: `created_at` in Unix seconds, `create_time` of family B in milliseconds. */
function numberText(name: string, value: number): string {
  const field = name.slice(name.lastIndexOf('.') + 1);
  const unitMs = /^(created|updated)_at$/.test(field) ? 1000 : /^(create|update)_time$/.test(field) ? 1 : 0;
  // Anything that is no moment is shown as it came.
  const isMoment = unitMs > 0 && value > 0 && value * unitMs < 1e14;
  return isMoment ? `${value} (${new Date(value * unitMs).toISOString()})` : String(value);
}
