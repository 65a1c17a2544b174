import { randomBytes } from 'node:crypto';
import { type AssetStatus, type AssetType, assetTypes, DEFAULT_PROJECT } from '../../gateway/asset/fields.ts';
import { Refusal } from '../reply.ts';
import { makeTaskId } from '../task.ts';
import type { World } from '../world.ts';

// What the library holds, kept as documents. Times are Unix milliseconds.

export interface KeptGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly type: string;
  readonly project: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** An asset. When its processing ends, and how, is decided when it is created. */
export interface KeptAsset {
  readonly id: string;
  readonly name: string;
  readonly groupId: string;
  readonly project: string;
  readonly type: AssetType;
  readonly url: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly readyAtMs: number;
  readonly failure?: { readonly code: string; readonly message: string };
  readonly lastUsedAtMs?: number;
}

const GROUP = 'asset-group';
const ASSET = 'asset';

export const makeLibraryId = (prefix: 'asset' | 'group', nowMs: number): string => makeTaskId(prefix, nowMs);

/** The project that a request names, or the one where it names none. */
export const projectOf = ({ ProjectName }: { readonly ProjectName?: string }): string =>
  ProjectName ?? DEFAULT_PROJECT;

/** Times as the document shows them: UTC, RFC 3339. */
export const timeText = (atMs: number): string => new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z');

export function statusOf({ readyAtMs, failure }: KeptAsset, nowMs: number): AssetStatus {
  if (nowMs < readyAtMs) return 'Processing';
  return failure ? 'Failed' : 'Active';
}

const notThere = (what: string, id: string, project: string) =>
  new Refusal(404, `The ${what} ${id} does not exist in the project ${project}.`, 'ResourceNotFound');

/** A group of a project. Throws Refusal (404) where there is none. */
export function findGroup(id: string, project: string, { store }: World): KeptGroup {
  const group = store.get(GROUP, id) as KeptGroup | undefined;
  if (group?.project !== project) throw notThere('asset group', id, project);
  return group;
}

/** An asset of a project whose group is there. Throws Refusal (404) where there is none. */
export function findAsset(id: string, project: string, world: World): KeptAsset {
  const asset = (world.store.get(ASSET, id) as KeptAsset | undefined) ?? sampleAsset(id);
  if (asset?.project !== project) throw notThere('asset', id, project);
  if (!isSample(id) && world.store.get(GROUP, asset.groupId) === undefined)
    throw notThere('asset', id, project);
  return asset;
}

export const allGroups = ({ store }: World): KeptGroup[] => [...store.all(GROUP).values()] as KeptGroup[];

/** Every asset whose group is there. */
export function allAssets({ store }: World): KeptAsset[] {
  const groups = store.all(GROUP);
  return ([...store.all(ASSET).values()] as KeptAsset[]).filter(({ groupId }) => groups.has(groupId));
}

export const keepGroup = (group: KeptGroup, { store }: World): void => store.put(GROUP, group.id, group);

/** Keeps an asset; one of the samples stays as it is. */
export function keepAsset(asset: KeptAsset, { store }: World): void {
  if (!isSample(asset.id)) store.put(ASSET, asset.id, asset);
}

/** As {@link findAsset}, to change or delete it. Throws Refusal for a sample too. */
export function findOwnAsset(id: string, project: string, world: World): KeptAsset {
  const asset = findAsset(id, project, world);
  if (!isSample(id)) return asset;
  throw new Refusal(400, `${id} is a sample of the sandbox, which stays as it is.`, 'InvalidParameter.Id');
}

/** Forgets a group and with it its assets. */
export function dropGroup(id: string, { store }: World): void {
  // The group first: without it none of its assets is there any more.
  store.drop(GROUP, id);
  for (const asset of store.all(ASSET).values()) {
    const { id: assetId, groupId } = asset as KeptAsset;
    if (groupId === id) store.drop(ASSET, assetId);
  }
}

export const dropAsset = (id: string, { store }: World): boolean => store.drop(ASSET, id);

/** Assets that are there without an upload: these, and whatever follows, as in `asset-sandbox-image-1`. */
export const sampleStarts: readonly string[] = assetTypes.map(
  (type) => `asset-sandbox-${type.toLowerCase()}-`,
);

export const isSample = (id: string): boolean => sampleStarts.some((start) => id.startsWith(start));

/** Long ago, also for a machine whose clock is years behind: a sample is ready from the start. */
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

export const libraryRequestId = (): string => randomBytes(16).toString('hex');
