/** Shorter derived forms would be found in innocent text. */
const MIN_FRAGMENT_LENGTH = 8;

/**
 * The ways a secret can stand in text: itself, inside a JSON string, percent-encoded (both cases of the digits, as a
 * form field too), and in Base64 and Base64url at each of the three offsets it can have in longer data.
 */
export function secretForms(secret: string): string[] {
  if (secret === '') return [];
  // Through bytes and back: half a surrogate pair, which URI encoding refuses, becomes what would be written.
  const percent = encodeURIComponent(Buffer.from(secret, 'utf8').toString('utf8'));
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase()),
    new URLSearchParams({ '': secret }).toString().slice(1),
    ...base64Forms(secret),
  ];
  return [...new Set(forms)];
}

function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const forms = [bytes.toString('base64'), bytes.toString('base64url')].filter(isLongEnough);
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // Characters at the edges also hold bits of the neighbours: only those wholly of the secret are looked for.
    const first = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + bytes.length) * 8) / 6);
    const core = encoded.slice(first, end);
    if (isLongEnough(core)) forms.push(core, core.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}

function isLongEnough(form: string): boolean {
  return form.length >= MIN_FRAGMENT_LENGTH;
}
