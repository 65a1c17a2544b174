import { usage } from '../errors.ts';
import { accountTypes } from '../gateway/limits.ts';
import { parseBaseUrl } from './base-url.ts';
import type { Profile } from './config-file.ts';
import { parseDuration } from './duration.ts';
import { parseRetries } from './retries.ts';
import { modelKinds } from './settings.ts';

type Change = (profile: Profile, text: string | undefined) => Profile;

/** What `gw config set|unset` may change in a profile: how each setting's text is checked and stored. */
const changes: Readonly<Record<string, Change>> = {
  base_url: field('base_url', (text) => parseBaseUrl(text, 'base_url', { insecureHttp: true })),
  account: field('account', parseAccount),
  provider_version: field('provider_version', (text) => nonEmpty(text, 'provider_version')),
  out: field('out', (text) => nonEmpty(text, 'out')),
  timeout: field('timeout', (text) => {
    parseDuration(text, 'timeout');
    return text;
  }),
  retries: field('retries', (text) => parseRetries(text, 'retries')),
  ...Object.fromEntries(
    modelKinds.map((kind): [string, Change] => [
      `models.${kind}`,
      (profile, text) => {
        const { [kind]: _, ...rest } = profile.models ?? {};
        const models = text === undefined ? rest : { ...rest, [kind]: nonEmpty(text, `models.${kind}`) };
        return { ...profile, models };
      },
    ]),
  ),
};

/** The names of the settings that a profile can hold. */
export const settingNames: readonly string[] = Object.keys(changes);

/** A profile with one setting changed; without a text it is taken out. Throws GwError `usage`. */
export function withSetting(profile: Profile, name: string, text: string | undefined): Profile {
  const change = Object.hasOwn(changes, name) ? changes[name] : undefined;
  if (change) return change(profile, text);
  throw usage(`there is no setting ${JSON.stringify(name)}`, `Choose one of ${settingNames.join(', ')}.`);
}

function field<K extends keyof Profile>(name: K, parse: (text: string) => NonNullable<Profile[K]>): Change {
  return (profile, text) => {
    const { [name]: _, ...rest } = profile;
    return text === undefined ? rest : { ...rest, [name]: parse(text) };
  };
}

function parseAccount(text: string): NonNullable<Profile['account']> {
  const found = accountTypes.find((type) => type === text);
  if (found) return found;
  throw usage(
    `account ${JSON.stringify(text)} is not a kind of account`,
    `Choose one of ${accountTypes.join(', ')}.`,
  );
}

function nonEmpty(text: string, what: string): string {
  if (text.trim() !== '') return text;
  throw usage(`${what} is empty`, `Give a value, or take it out: gw config unset ${what}`);
}
