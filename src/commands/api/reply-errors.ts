import { GwError } from '../../errors.ts';
import { assetErrorKind } from '../../gateway/asset/envelope.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { parseJson } from '../../http/parse-json.ts';
import { UnknownOutcome } from '../../http/retry.ts';

// How the errors of a request by hand differ from those of gw's own: nothing of it is in the ledger.

/** The refusal that a 2xx reply holds in its body; undefined where it holds none. */
export function refusalIn(
  text: string | undefined,
  { refusal, method, path }: Endpoint,
): GwError | undefined {
  if (text === undefined || refusal === undefined) return undefined;
  let said: ReturnType<typeof refusal>;
  try {
    said = refusal(parseJson(text));
  } catch {
    return undefined;
  }
  if (said === undefined) return undefined;
  const { message, ...facts } = said;
  const reason = [said.code, message].filter(Boolean).join(': ');
  return new GwError(
    assetErrorKind(said.code) ?? 'rejected',
    `the gateway refused the request (${method} ${path.replace(/\?.*$/s, '')}): ${reason}`,
    facts,
  );
}

/** An outcome that is not known is `unknown_outcome` only where the document says that it is paid for. */
export function withoutLedger(error: unknown, { resend }: Endpoint): unknown {
  if (!(error instanceof UnknownOutcome)) return error;
  const { message, facts } = error;
  if (resend === 'paid') {
    const hint =
      'it was not sent again, because it may have been created: look in the console of the gateway; nothing of it is in the ledger';
    return new GwError('unknown_outcome', message, { ...facts, hint });
  }
  const hint = 'it was not sent again: look at what it was to change first, with a GET or in the console';
  return new GwError('unavailable', `${message}; it may have been done`, { ...facts, hint });
}
