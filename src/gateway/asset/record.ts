import * as z from 'zod/mini';
import { fieldsOf, textOf } from '../json-value.ts';
import {
  type AssetStatus,
  type AssetType,
  assetStatuses,
  assetTypes,
  canonical,
  LibraryId,
} from './fields.ts';

// Assets and groups as the gateway shows them ("Asset group and asset"), read loosely.

/** `Result` of a create. */
export const CreatedId = z.looseObject({ Id: LibraryId });

/** A record as it came: what has an ID is one, and each field is read where it is needed. */
export interface LibraryRecord {
  readonly Id: string;
  readonly [field: string]: unknown;
}

export const LibraryRecord = z.custom<LibraryRecord>(
  (value) => typeof fieldsOf(value).Id === 'string',
  'the record has no Id',
);

/** What gw understands of an asset's record. */
export interface AssetView {
  readonly id: string;
  /** The gateway's word as the document spells it; one that the document does not list as it came. */
  readonly status: string;
  readonly state: 'running' | 'succeeded' | 'failed';
  /** False for a status that the document does not list, which waits on like `Processing`. */
  readonly statusKnown: boolean;
  /** Undefined where the record names none that is documented. */
  readonly type: AssetType | undefined;
  readonly error: { readonly code: string | undefined; readonly message: string | undefined };
}

const states: Readonly<Record<AssetStatus, AssetView['state']>> = {
  Active: 'succeeded',
  Processing: 'running',
  Failed: 'failed',
};

/** Reads where an asset stands ("States and transitions": `Processing`, then `Active` or `Failed`). */
export function readAsset({ Id, Status, AssetType, Error: failure }: LibraryRecord): AssetView {
  const status = canonical(assetStatuses, Status);
  const { Code, Message } = fieldsOf(failure);
  return {
    id: Id,
    status: status ?? textOf(Status),
    state: status === undefined ? 'running' : states[status],
    statusKnown: status !== undefined,
    type: canonical(assetTypes, AssetType),
    error: { code: textOf(Code) || undefined, message: textOf(Message) || undefined },
  };
}

/** "Asset failure codes": what each means and what to do about it. */
const failures: Readonly<Record<string, { readonly meaning: string; readonly toDo: string }>> = {
  AssetURLUnavailable: {
    meaning: 'the URL could not be downloaded',
    toDo: 'open the URL from outside your network, then create the asset anew',
  },
  AssetTooLarge: { meaning: 'over the download cap of 200 MB', toDo: 'give a smaller file' },
  InvalidAsset: {
    meaning: 'the file does not meet the requirements',
    toDo: 'compare it with the requirements in gw asset create --help',
  },
  AssetTypeMismatch: {
    meaning: 'the file is of another type than the asset says',
    toDo: 'create the asset anew with the --type that the file has',
  },
};

/** What a documented failure code means; undefined for any other. */
export const assetFailure = (code: string | undefined) =>
  code !== undefined && Object.hasOwn(failures, code) ? failures[code] : undefined;
