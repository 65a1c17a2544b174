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
    yield [
      name,
      /(^|[._])(created|updated)_at$/.test(name) && typeof value === 'number'
        ? timeText(value)
        : String(value),
    ];
  }
}

/** Unix seconds as a date; anything that is none is shown as it came. */
function timeText(seconds: number): string {
  const plausible = seconds > 0 && seconds < 1e11;
  return plausible ? `${seconds} (${new Date(seconds * 1000).toISOString()})` : String(seconds);
}
