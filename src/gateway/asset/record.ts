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

/** A record as the gateway sent it. Only `Id` is required; each other field is checked where it is read. */
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
  /** The gateway's status: in the documented spelling if it is documented, otherwise as it came. */
  readonly status: string;
  readonly state: 'running' | 'succeeded' | 'failed';
  /** False for a status that the document does not list; gw keeps waiting, as for `Processing`. */
  readonly statusKnown: boolean;
  /** Undefined if the record names no documented type. */
  readonly type: AssetType | undefined;
  readonly error: { readonly code: string | undefined; readonly message: string | undefined };
}

const states: Readonly<Record<AssetStatus, AssetView['state']>> = {
  Active: 'succeeded',
  Processing: 'running',
  Failed: 'failed',
};

/** Reads the state of an asset ("States and transitions": `Processing`, then `Active` or `Failed`). */
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

/** "Asset failure codes": the meaning of each, and what the user can do about it. */
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
