import { createOnce, findAsset } from '../../assets/create-once.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { usage } from '../../errors.ts';
import { fromField } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { CreateAssetBody, createAsset, uploadAsset } from '../../gateway/asset/actions.ts';
import { ASSET_MAX_DOWNLOAD_BYTES, assetLimits, assetTypes, canonical } from '../../gateway/asset/fields.ts';
import { type Asset, readAsset } from '../../gateway/asset/record.ts';
import { assetTypeOfUrl, assetUrlBreach } from '../../gateway/asset/url.ts';
import { MB, type MediaLimits, type Range } from '../../gateway/limits.ts';
import { showInstead } from '../show-instead.ts';
import {
  anyCaseFlag,
  given,
  idFlag,
  idLine,
  type LibraryResult,
  libraryBody,
  libraryResult,
  lookCommand,
  projectFlag,
} from './library.ts';
import { waitFlags, waitOutcomes } from './wait.ts';

const { shape } = CreateAssetBody;
const flags = {
  group: idFlag(shape.GroupId),
  url: fromField(shape.URL, 'URL'),
  type: anyCaseFlag(shape.AssetType, assetTypes),
  name: fromField(shape.Name, 'NAME'),
  ...projectFlag,
  ...waitFlags,
} as const;

const endpoints = { create: createAsset, upload: uploadAsset } as const;

/** `gw asset create` (the action) and `gw asset upload` (its REST alias): the same request by two ways. */
export const assetCreate = (verb: keyof typeof endpoints) =>
  defineCommand<typeof flags, LibraryResult>({
    strayWord:
      'no file is sent: put it where the service can read it, and give its https:// address with --url',
    flags,
    examples: [
      `gw asset ${verb} --sandbox --group "$(gw asset group create --sandbox --name foxes)" --url https://example.com/fox.png --name fox --wait`,
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
      const body = await libraryBody(
        {
          schema: CreateAssetBody,
          over: (base) => ({
            ...base,
            ...given({
              GroupId: flags.group,
              URL: flags.url,
              AssetType: canonical(assetTypes, flags.type) ?? flags.type,
              Name: flags.name,
              ProjectName: flags.project,
            }),
          }),
          fill: (body) => withType(body, globals.validate === undefined),
          flagOf: flagOfField,
        },
        ctx,
      );
      warnOfEnding(body, ctx);
      const endpoint = endpoints[verb];
      const shown = await showInstead(endpoint, { body }, ctx);
      if (shown !== undefined) return yield { value: shown };
      const { client } = await ctx.gateway();
      const { clock, signal } = ctx;
      const created = await createOnce({
        client,
        endpoint,
        body,
        clock,
        signal,
        note: (text) => ctx.io.note(text),
        what: 'asset',
        find: findAsset({ client, body, clock, signal }),
        // The type of the group is not in the request, and a list shows one type only.
        lookCommand: `${lookCommand('gw asset list', { '--group-id': body.GroupId, '--name': body.Name, '--project': body.ProjectName }, ctx)} (a group of the type LivenessFace needs --type LivenessFace too)`,
      });
      if (!flags.wait) {
        // What the document says of a new asset; its reply has no status.
        const { status } = created.isFound ? readAsset(created.record as Asset) : { status: 'Processing' };
        yield { value: libraryResult('asset', created.id, status, created.record) };
        return;
      }
      ctx.io.note(`asset ${created.id}`);
      yield* waitOutcomes([created.id], flags, ctx, true);
    },
  });

const flagOfField = {
  GroupId: '--group',
  URL: '--url',
  AssetType: '--type',
  Name: '--name',
  ProjectName: '--project',
} as const;

/** Throws `usage` where nothing says what the file is, and that is checked. */
function withType(body: JsonObject, isChecked: boolean): JsonObject {
  if (body.AssetType !== undefined || typeof body.URL !== 'string') return body;
  const type = assetTypeOfUrl(body.URL);
  if (type !== undefined) return { ...body, AssetType: type };
  if (isChecked && assetUrlBreach(body.URL) === undefined) {
    throw usage(
      `--type: is required, one of ${assetTypes.join(', ')}: the ending of the URL does not say what the file is`,
      'write --type image, for one',
    );
  }
  return body;
}

/** An ending may lie, so it is no breach; the service would say AssetTypeMismatch much later. */
function warnOfEnding(
  { URL: url, AssetType: type }: JsonObject,
  { io }: { readonly io: { warn(text: string): void } },
) {
  const promised = typeof url === 'string' ? assetTypeOfUrl(url) : undefined;
  const asked = canonical(assetTypes, type);
  if (promised === undefined || asked === undefined || promised === asked) return;
  io.warn(`--type ${asked}: the ending of the URL says ${promised}; where it is right, the asset will fail`);
}

const between = ({ min, max, exclusive }: Range) => `${min}-${max}${exclusive ? ' (exclusive)' : ''}`;

function limitsText({
  formats = [],
  bytes,
  durationS,
  edgePx,
  aspect,
  pixels,
  framesPerS,
}: MediaLimits): string {
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

/** What a file must be to become `Active`, a line a type, from the table of the document. */
export const requirementsHelp = (): string =>
  [
    `What a file must be (of a URL nothing of it can be checked here; at most ${ASSET_MAX_DOWNLOAD_BYTES / MB} MB are downloaded):`,
    ...Object.entries(assetLimits).map(([type, limits]) => `  ${type}: ${limitsText(limits)}`),
  ].join('\n');
