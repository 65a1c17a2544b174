import { type AssetStatus, type AssetType, assetTypes, DEFAULT_PROJECT } from '../../gateway/asset/fields.ts';
import { assetTypeOfUrl } from '../../gateway/asset/url.ts';
import { Refusal } from '../reply.ts';
import type { World } from '../route.ts';
import { seededInt } from '../seeded.ts';

// The content of the library, stored as documents. Times are Unix milliseconds.

interface KeptEntry {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface KeptGroup extends KeptEntry {
  readonly description: string;
  readonly type: string;
}

/** An asset. The end and result of its processing are decided at creation. */
export interface KeptAsset extends KeptEntry {
  readonly groupId: string;
  readonly type: AssetType;
  readonly url: string;
  readonly readyAtMs: number;
  readonly failure?: { readonly code: string; readonly message: string };
  readonly lastUsedAtMs?: number;
}

const GROUP = 'asset-group';
export const ASSET = 'asset';

/** The project of a request, or the default project. */
export const projectOf = ({ ProjectName }: { readonly ProjectName?: string | undefined }): string =>
  ProjectName ?? DEFAULT_PROJECT;

/** Times in the document's format: UTC, RFC 3339. */
const timeText = (atMs: number): string => new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z');

export function statusOf({ readyAtMs, failure }: KeptAsset, nowMs: number): AssetStatus {
  if (nowMs < readyAtMs) return 'Processing';
  return failure ? 'Failed' : 'Active';
}

const notThere = (what: string, id: string, project: string) =>
  new Refusal(404, `The ${what} ${id} does not exist in the project ${project}.`, 'ResourceNotFound');

/** A group of a project. Throws Refusal (404) if it does not exist. */
export function findGroup(id: string, project: string, { store }: World): KeptGroup {
  const group = store.get(GROUP, id) as KeptGroup | undefined;
  if (group?.project !== project) throw notThere('asset group', id, project);
  return group;
}

/** An asset of a project, with an existing group. Throws Refusal (404) if there is none. */
export function findAsset(id: string, project: string, world: World): KeptAsset {
  const asset = existing(id, world);
  if (asset?.project !== project) throw notThere('asset', id, project);
  return asset;
}

/** An asset of any project with an existing group. */
function existing(id: string, { store }: World): KeptAsset | undefined {
  const asset = (store.get(ASSET, id) as KeptAsset | undefined) ?? sampleAsset(id);
  return asset && (isSample(id) || store.get(GROUP, asset.groupId) !== undefined) ? asset : undefined;
}

export const allGroups = ({ store }: World): KeptGroup[] => [...store.all(GROUP).values()] as KeptGroup[];

/** All assets with an existing group. */
export function allAssets({ store }: World): KeptAsset[] {
  const groups = store.all(GROUP);
  return ([...store.all(ASSET).values()] as KeptAsset[]).filter(({ groupId }) => groups.has(groupId));
}

export const keepGroup = (group: KeptGroup, { store }: World): void => store.put(GROUP, group.id, group);

/** Stores an asset; the sample assets never change. */
export function keepAsset(asset: KeptAsset, { store }: World): void {
  if (!isSample(asset.id)) store.put(ASSET, asset.id, asset);
}

/** As {@link findAsset}, for changing or deleting the asset. Throws Refusal for a sample asset too. */
export function findOwnAsset(id: string, project: string, world: World): KeptAsset {
  const asset = findAsset(id, project, world);
  if (!isSample(id)) return asset;
  throw new Refusal(400, `${id} is a sample of the sandbox, which stays as it is.`, 'InvalidParameter.Id');
}

export function dropGroup(id: string, { store }: World): void {
  // The group goes first, because without it none of its assets exists any more.
  store.drop(GROUP, id);
  for (const asset of store.all(ASSET).values()) {
    const { id: assetId, groupId } = asset as KeptAsset;
    if (groupId === id) store.drop(ASSET, assetId);
  }
}

/** IDs of sample assets that always exist begin with one of these, as in `asset-sandbox-image-1`. */
export const sampleStarts: readonly string[] = assetTypes.map(
  (type) => `asset-sandbox-${type.toLowerCase()}-`,
);

const isSample = (id: string): boolean => sampleStarts.some((start) => id.startsWith(start));

/** Early enough for a machine whose clock is years behind, so that samples are always ready. */
const SAMPLE_MS = Date.UTC(2000, 0, 1);
const sampleEndings = { Image: 'png', Video: 'mp4', Audio: 'mp3' } as const;

function sampleAsset(id: string): KeptAsset | undefined {
  const type = assetTypes.find((_, at) => id.startsWith(String(sampleStarts[at])));
  if (type === undefined) return undefined;
  return {
    id,
    name: id,
    groupId: 'group-sandbox',
    project: DEFAULT_PROJECT,
    type,
    url: `https://example.com/${id}.${sampleEndings[type]}`,
    createdAtMs: SAMPLE_MS,
    updatedAtMs: SAMPLE_MS,
    readyAtMs: SAMPLE_MS,
  };
}

/** A group in the gateway's form ("Asset group object fields"). */
export const groupRecord = (group: KeptGroup) => ({
  Id: group.id,
  Name: group.name,
  Description: group.description,
  GroupType: group.type,
  ProjectName: group.project,
  CreateTime: timeText(group.createdAtMs),
  UpdateTime: timeText(group.updatedAtMs),
});

/** An asset at `nowMs` in the gateway's form ("Asset object fields"). */
export function assetRecord(asset: KeptAsset, nowMs: number) {
  const status = statusOf(asset, nowMs);
  const { failure, lastUsedAtMs } = asset;
  return {
    Id: asset.id,
    Name: asset.name,
    GroupId: asset.groupId,
    ProjectName: asset.project,
    AssetType: asset.type,
    Status: status,
    Moderation: { Strategy: 'Default' },
    URL: asset.url,
    CreateTime: timeText(asset.createdAtMs),
    UpdateTime: timeText(asset.updatedAtMs),
    ...(lastUsedAtMs !== undefined && { LastInferenceTime: timeText(lastUsedAtMs) }),
    ...(status === 'Failed' && failure && { Error: { Code: failure.code, Message: failure.message } }),
  };
}

/** Words in a URL's path that make the asset fail, with the failure code ("Asset failure codes"). */
export const failureWords = {
  unavailable: { code: 'AssetURLUnavailable', message: 'The URL could not be downloaded.' },
  'too-large': { code: 'AssetTooLarge', message: 'The file is over the download cap of 200 MB.' },
  invalid: { code: 'InvalidAsset', message: 'The file does not meet the requirements.' },
  mismatch: { code: 'AssetTypeMismatch', message: 'The AssetType differs from the detected file type.' },
} as const;

/** The processing time of a file at speed 1. */
const paceMs: Readonly<Record<AssetType, { readonly least: number; readonly spread: number }>> = {
  Image: { least: 4_000, spread: 4_000 },
  Audio: { least: 6_000, spread: 6_000 },
  Video: { least: 12_000, spread: 12_000 },
};

/** Decides when the processing of a new asset ends and whether it fails. The URL is not downloaded; its words decide. */
export function planProcessing(
  { id, type, url, createdAtMs }: Pick<KeptAsset, 'id' | 'type' | 'url' | 'createdAtMs'>,
  { speed }: Pick<World, 'speed'>,
): Pick<KeptAsset, 'readyAtMs' | 'failure'> {
  const { least, spread } = paceMs[type];
  const takesMs = Math.ceil((least + (seededInt(id, 'processing') % spread)) / speed);
  const failure = failureOf(type, url);
  return { readyAtMs: createdAtMs + takesMs, ...(failure && { failure }) };
}

function failureOf(type: AssetType, url: string): KeptAsset['failure'] {
  const { pathname } = new URL(url);
  const word = Object.entries(failureWords).find(([each]) => pathname.includes(each));
  if (word) return word[1];
  const detected = assetTypeOfUrl(url);
  return detected === undefined || detected === type ? undefined : failureWords.mismatch;
}

/**
 * Checks an asset that a video request refers to ("Using an asset in a family A request"): it must exist, be
 * `Active`, and have the type for its place. A video request names no project ("using an asset must use the same
 * project"), so all its assets must be of one project. Throws the Refusal that `refuse` makes of the broken rule.
 * @param place `image_url`, `video_url` or `audio_url`
 * @param before the request's assets before this one
 */
export function checkAsset(
  id: string,
  place: string,
  world: World,
  before: readonly KeptAsset[],
  refuse: (rule: string) => Refusal,
): KeptAsset {
  const asset = existing(id, world);
  if (!asset) throw refuse(`the asset ${id} does not exist`);
  const other = before.find(({ project }) => project !== asset.project);
  if (other)
    throw refuse(`the asset ${id} is of the project ${asset.project}, ${other.id} of ${other.project}`);
  const status = statusOf(asset, world.now());
  if (status !== 'Active') throw refuse(`the asset ${id} is ${status}, not Active`);
  if (`${asset.type.toLowerCase()}_url` !== place) {
    throw refuse(`the asset ${id} is of the type ${asset.type}`);
  }
  return asset;
}

/** Records the last use of assets in a video task. */
export function markUsed(assets: readonly KeptAsset[], nowMs: number, world: World): void {
  for (const asset of assets) keepAsset({ ...asset, lastUsedAtMs: nowMs }, world);
}
