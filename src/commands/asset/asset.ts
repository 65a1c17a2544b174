import { findAsset } from '../../assets/create-once.ts';
import { defineCommand, type Outcome, ShownRequest } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { fromField } from '../../flags/body-flags.ts';
import { on } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import {
  CreateAssetBody,
  createAsset,
  deleteAsset,
  getAsset,
  restAsset,
  UpdateAssetBody,
  updateAsset,
  uploadAsset,
} from '../../gateway/asset/actions.ts';
import { resultOf } from '../../gateway/asset/envelope.ts';
import { ASSET_MAX_DOWNLOAD_BYTES, assetLimits, assetTypes, canonical } from '../../gateway/asset/fields.ts';
import { LibraryRecord, readAsset } from '../../gateway/asset/record.ts';
import { assetTypeOfUrl, assetUrlBreach } from '../../gateway/asset/url.ts';
import { MB, type MediaLimits, type Range } from '../../gateway/limits.ts';
import { assetOutput } from '../../shots/asset-output.ts';
import { askFirst, refuseUnasked } from '../ask-first.ts';
import { waitDeadlineMs } from '../video/job-result.ts';
import { create, deleteFlags, lookCommand, remove, updateCommand } from './change.ts';
import {
  actionProjectFlag,
  anyCaseFlag,
  assetExample,
  bodyMaker,
  getRecords,
  idBodies,
  idFlag,
  idLine,
  type LibraryResult,
  layOf,
  libraryIds,
  libraryResult,
  oneByOne,
  projectFlag,
  recordJson,
  recordText,
  refuseActionFlags,
  type SeenRecord,
  withoutPairs,
} from './library.ts';
import { waitFlags, waitOutcomes } from './wait.ts';

const { shape } = CreateAssetBody;
const createFlags = {
  group: idFlag(shape.GroupId),
  url: fromField(shape.URL, 'URL|job:ID'),
  type: anyCaseFlag(shape.AssetType, assetTypes),
  name: fromField(shape.Name, 'NAME'),
  ...projectFlag,
  ...waitFlags,
} as const;

/** `gw asset create` (the action) and `gw asset upload` (its REST alias) send the same request in two ways. */
export const assetCreate = (verb: 'create' | 'upload') =>
  defineCommand<typeof createFlags, LibraryResult>({
    strayWord:
      'no file is sent: put it where the service can read it, and give its https:// address with --url',
    flags: createFlags,
    examples: [
      assetExample.replace(' create ', ` ${verb} `),
      `gw asset ${verb} --sandbox --group group-1 --url https://example.com/wind.mp3 --type audio --name wind --dry-run`,
    ],
    notes: [
      'Prints the ID; in a video it is written asset://ID. The file itself is not sent: the service downloads the URL, ' +
        'which must be public. --type may be left out where the ending of the URL says it.',
      'What a file must be: gw help asset-files.',
    ],
    sends: 'body',
    human: idLine,
    async *run({ flags, globals }, ctx): AsyncGenerator<Outcome<LibraryResult>> {
      const output = await assetOutput(flags, ctx);
      const said = output ? { ...flags, url: output.standIn, type: output.type } : flags;
      const endpoint = verb === 'create' ? createAsset : uploadAsset;
      const lay = layOf('GroupId', 'URL', 'AssetType', 'Name', 'ProjectName');
      const fill = (body: JsonObject) => withType(body, globals.validate === undefined);
      const body = (await bodyMaker(endpoint, lay, said, ctx, fill))();
      warnOfEnding(body, ctx);
      const { GroupId, Name, ProjectName } = body;
      const filters = { '--group-id': GroupId, '--name': Name, '--project': ProjectName };
      const look = lookCommand('gw asset list', filters, ctx);
      const deadlineMs = waitDeadlineMs(flags, ctx);
      const created = await create(
        {
          endpoint,
          deadlineMs,
          body: output ? { ...body, URL: output.shown } : body,
          finish: async (told) => (output ? { ...told, URL: await output.link() } : told),
          what: 'asset',
          // The request does not contain the group's type, and a list shows one type only.
          lookCommand: `${look} (a group of the type LivenessFace needs --type LivenessFace too)`,
        },
        findAsset,
        ctx,
      );
      if (created instanceof ShownRequest) return yield { value: created };
      if (!flags.wait) {
        // The reply of a create has no status; the document says that a new asset is Processing.
        const { status } = created.isFound
          ? readAsset(created.record as LibraryRecord)
          : { status: 'Processing' };
        return yield { value: libraryResult('asset', created.id, status, created.reply, created.record) };
      }
      ctx.io.note(`asset ${created.id}`);
      const project = typeof ProjectName === 'string' && { project: ProjectName };
      yield* waitOutcomes([created.id], { ...flags, ...project, deadlineMs }, ctx, true);
    },
  });

/** Sets the asset type from the file name. Throws `usage` if the type is unknown and validation is on. */
function withType(body: JsonObject, isChecked: boolean): JsonObject {
  if (body.AssetType !== undefined || typeof body.URL !== 'string') return body;
  const type = assetTypeOfUrl(body.URL);
  if (type !== undefined) return { ...body, AssetType: type };
  if (isChecked && assetUrlBreach(body.URL) === undefined)
    throw usage(
      `--type: is required, one of ${assetTypes.join(', ')}: the ending of the URL does not say what the file is`,
      'write --type image, for one',
    );
  return body;
}

/** Warns if the file ending contradicts the type: the ending may be wrong, but the service checks late. */
function warnOfEnding({ URL: url, AssetType: type }: JsonObject, { io }: Context) {
  const promised = typeof url === 'string' ? assetTypeOfUrl(url) : undefined;
  const asked = canonical(assetTypes, type);
  if (promised === undefined || asked === undefined || promised === asked) return;
  io.warn(`--type ${asked}: the ending of the URL says ${promised}; where it is right, the asset will fail`);
}

const between = ({ min, max, exclusive }: Range) => `${min}-${max}${exclusive ? ' (exclusive)' : ''}`;

function limitsText(limits: MediaLimits): string {
  const { formats = [], bytes, durationS, edgePx, aspect, pixels, framesPerS } = limits;
  return [
    formats.join(', '),
    bytes && `${bytes.exclusive ? 'under' : 'up to'} ${bytes.max / MB} MB`,
    durationS && `${between(durationS)} s`,
    edgePx && `width and height ${between(edgePx)} px`,
    aspect && `ratio ${between(aspect)}`,
    pixels && `${between(pixels)} pixels`,
    framesPerS && `${between(framesPerS)} frames a second`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** The requirements of a file to become `Active`, one line per type, from the document's table. */
export const requirementsHelp = (): string =>
  [
    `What a file must be (gw cannot check a URL; the gateway downloads at most ${ASSET_MAX_DOWNLOAD_BYTES / MB} MB):`,
    ...Object.entries(assetLimits).map(([type, limits]) => `  ${type}: ${limitsText(limits)}`),
  ].join('\n');

const idArgs = { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true } as const;

const getFlags = {
  rest: on('ask by the REST alias, which answers without the envelope'),
  ...actionProjectFlag,
} as const;

export const get = defineCommand<typeof getFlags, SeenRecord>({
  args: idArgs,
  flags: getFlags,
  examples: [
    assetExample,
    'gw asset get "$(gw asset list --sandbox -q --limit 1)" --sandbox',
    'gw asset get "$(gw asset list --sandbox -q --limit 1)" --sandbox --rest --json',
  ],
  sends: 'body',
  human: recordText,
  raw: recordJson,
  async *run({ args, flags: given }, ctx) {
    const flags = withoutPairs(given, [['rest', 'project']], ctx);
    if (flags.rest) {
      refuseActionFlags(flags.project, ctx);
      const inputOf = (id: string) => ({ params: { asset_id: id } });
      return yield* getRecords(libraryIds(args), restAsset, inputOf, (reply) => reply, ctx);
    }
    const { ids, inputOf } = await idBodies(args, flags, ctx);
    yield* getRecords(ids, getAsset, inputOf, (reply) => resultOf(LibraryRecord, reply), ctx);
  },
});

/** `gw asset update ID` renames an asset. */
export const update = updateCommand({
  family: 'asset',
  summary: idArgs.summary,
  flags: { name: fromField(UpdateAssetBody.shape.Name, 'NAME') },
  examples: [
    assetExample,
    'gw asset update "$(gw asset list --sandbox -q --limit 1)" --sandbox --name "fox, front"',
  ],
  endpoint: updateAsset,
});

/** `gw asset delete ID…` asks first, because a delete is irreversible. */
export const assetDelete = defineCommand<typeof deleteFlags, LibraryResult>({
  args: idArgs,
  flags: deleteFlags,
  examples: [assetExample, 'gw asset delete "$(gw asset list --sandbox -q --limit 1)" --sandbox --yes'],
  sends: 'body',
  human: idLine,
  async *run({ args, flags, globals }, ctx): AsyncGenerator<Outcome<LibraryResult>> {
    const { ids, bodyOf } = await idBodies(args, flags, ctx);
    const what = ids.length === 1 ? `asset ${ids[0]}` : `${ids.length} assets`;
    refuseUnasked(`deleting ${what} cannot be undone`, flags.yes, ctx);
    if (!flags.yes && !globals.dryRun && !globals.curl) await askFirst(`Delete ${what} for good?`, ctx);
    yield* oneByOne(ids, (id) => remove('asset', deleteAsset, bodyOf(id), ctx));
  },
});
