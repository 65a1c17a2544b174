import { modelKinds, type Settings, type Sourced } from './settings.ts';

/** One line of `gw config list`; the key is never among the values. */
export interface SettingRow {
  readonly name: string;
  readonly value: string | number | boolean | undefined;
  readonly source: string;
}

/** Every setting in force under the name `gw config set` knows it by, with where it comes from. */
export function settingsTable(settings: Settings): SettingRow[] {
  const row = (name: string, { value, source }: Sourced<SettingRow['value']>): SettingRow => ({
    name,
    value,
    source: value === undefined ? 'not set' : source,
  });
  const keySource = settings.keySource();
  return [
    row('profile', settings.profile),
    row('base_url', settings.baseUrl),
    { name: 'key', value: keySource && '***', source: keySource ?? 'not set' },
    row('account', settings.account),
    row('provider_version', settings.providerVersion),
    row('out', settings.out),
    row('timeout', { ...settings.timeoutMs, value: durationWord(settings.timeoutMs.value) }),
    row('retries', settings.retries),
    ...modelKinds.map((kind) => row(`models.${kind}`, settings.models[kind])),
    row('verbose', settings.verbose),
  ];
}

/** A duration as it may be typed. */
const durationWord = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`);
