import { describe, expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { KEY, test, World } from '../helpers/gw.ts';

const actionsSent = (world: World): (string | undefined)[] =>
  world.requests().map((line) => /Action=(\w+)/.exec(line)?.[1] ?? line);
const newGroup = async (world: World, ...more: string[]) =>
  (await world.gw(['asset', 'group', 'create', '--name', 'foxes', ...more])).out.trim();
const png = 'https://example.com/fox.png';

describe('the request', () => {
  const sent = async (argv: string[]) => {
    const world = await World.open();
    const run = await world.ok([...argv, '--dry-run', '--json']);
    expect(world.sandbox.requests).toEqual([]);
    const { method, url, body } = JSON.parse(run.out);
    return { method, at: String(url).replace(world.sandbox.baseUrl, ''), body };
  };
  const act = (action: string, body: object) => ({
    method: 'POST',
    at: `/?Action=${action}&Version=2024-01-01`,
    body,
  });

  test.each<[string, string[], object]>([
    [
      'a group, every field',
      cmd`group create --name foxes --description winter --type LIVENESSFACE --project film`,
      act('CreateAssetGroup', {
        Name: 'foxes',
        Description: 'winter',
        GroupType: 'LivenessFace',
        ProjectName: 'film',
      }),
    ],
    ['a group, and no more than was said', cmd`group create --name x`, { body: { Name: 'x' } }],
    [
      'get a group',
      cmd`group get group-1 --project p`,
      act('GetAssetGroup', { Id: 'group-1', ProjectName: 'p' }),
    ],
    [
      'update a group',
      cmd`group update group-1 --description ""`,
      act('UpdateAssetGroup', { Id: 'group-1', Description: '' }),
    ],
    ['delete a group', cmd`group delete group-1`, act('DeleteAssetGroup', { Id: 'group-1' })],
    [
      'list groups',
      cmd`
        group list --type livenessface --name f --group-id a --group-id asset://b --sort-by UpdateTime
        --order Asc --limit 5 --token t --project p
      `,
      act('ListAssetGroups', {
        Filter: { GroupType: 'LivenessFace', Name: 'f', GroupIds: ['a', 'b'] },
        SortBy: 'UpdateTime',
        SortOrder: 'Asc',
        MaxResults: 5,
        NextToken: 't',
        ProjectName: 'p',
      }),
    ],
    ['the type of the groups is always sent', ['list'], act('ListAssets', { Filter: { GroupType: 'AIGC' } })],
    [
      'list assets by page',
      cmd`list --status Active --status Failed --sort-by GroupId --page 2 --page-size 50`,
      {
        body: {
          Filter: { GroupType: 'AIGC', Statuses: ['Active', 'Failed'] },
          SortBy: 'GroupId',
          PageNumber: 2,
          PageSize: 50,
        },
      },
    ],
    [
      'all of them, in as few pages as can be',
      cmd`list --all`,
      { body: { Filter: { GroupType: 'AIGC' }, MaxResults: 100 } },
    ],
    [
      '--all keeps a limit',
      cmd`list --all --limit 7`,
      { body: { Filter: { GroupType: 'AIGC' }, MaxResults: 7 } },
    ],
    [
      'list by REST',
      cmd`list --rest --name "a b" --status Active --limit 100 --offset 0`,
      { method: 'GET', at: '/api/assets?name=a+b&status=Active&limit=100&offset=0' },
    ],
    [
      'create',
      cmd`create --group asset://group-1 --url ${png} --type image --name fox --project p`,
      act('CreateAsset', { GroupId: 'group-1', URL: png, AssetType: 'Image', Name: 'fox', ProjectName: 'p' }),
    ],
    [
      'upload is the same by its alias',
      cmd`upload --group group-1 --url ${png} --name fox`,
      {
        method: 'POST',
        at: '/api/assets/upload',
        body: { GroupId: 'group-1', URL: png, AssetType: 'Image', Name: 'fox' },
      },
    ],
    [
      '--body, the flags over it, --set over both',
      cmd`create --group group-1 --url ${png} --name fox --set Name=wolf --set AssetType=Video`,
      { body: { GroupId: 'group-1', URL: png, AssetType: 'Video', Name: 'wolf' } },
    ],
    ['get', cmd`get asset://asset-1`, act('GetAsset', { Id: 'asset-1' })],
    ['get by REST', cmd`get asset://asset-1 --rest`, { method: 'GET', at: '/api/assets/asset-1' }],
    ['update', cmd`update ASSET://asset-1 --name red`, act('UpdateAsset', { Id: 'asset-1', Name: 'red' })],
    ['delete', cmd`delete asset-1 --project p`, act('DeleteAsset', { Id: 'asset-1', ProjectName: 'p' })],
    ['wait', cmd`wait asset-1`, act('GetAsset', { Id: 'asset-1' })],
  ])('%s', async (_, argv, expected) => {
    expect(await sent(['asset', ...argv])).toMatchObject(expected);
  });

  test.each([
    ['fox.JPG', 'Image'],
    ['fox.jpeg?x=1.mp4', 'Image'],
    ['fox.png', 'Image'],
    ['fox.webp', 'Image'],
    ['fox.bmp', 'Image'],
    ['fox.tif', 'Image'],
    ['fox.tiff', 'Image'],
    ['fox.gif', 'Image'],
    ['fox.heic', 'Image'],
    ['fox.heif', 'Image'],
    ['fox.mp4', 'Video'],
    ['fox.MOV', 'Video'],
    ['fox.wav', 'Audio'],
    ['fox.mp3#t=1', 'Audio'],
  ])('the ending of %s says %s', async (name, type) => {
    const argv = ['asset', 'create', '--group', 'g', '--name', 'x', '--url', `https://example.com/${name}`];
    expect((await sent(argv)).body.AssetType).toBe(type);
  });

  test('a curl command names the action and hides the key', async ({ world }) => {
    const { out } = await world.gw(['asset', 'get', 'asset-1', '--curl']);
    expect(out).toContain('Action=GetAsset&Version=2024-01-01');
    expect(out).toContain('$GW_API_KEY');
    expect(out).not.toContain(KEY);
  });
});

describe('bad input: one sentence, and nothing is sent', () => {
  const made = ['create', '--group', 'group-1', '--name', 'fox'];
  test.for<[string, string[], RegExp]>([
    [
      'no type, and an ending that says none',
      cmd`${made} --url https://example.com/fox`,
      /--type: is required/,
    ],
    [
      'a type that is none',
      cmd`${made} --url ${png} --type vidoe`,
      /--type vidoe: one of Image, Video, Audio; did you mean Video/,
    ],
    [
      'a name of 65 characters',
      ['create', '--group', 'g', '--url', png, '--name', '🦊'.repeat(65)],
      /--name .*…: has 65 characters, and may have at most 64/,
    ],
    ['no group', cmd`create --url ${png} --name x`, /--group: is required/],
    ['a file', cmd`${made} --url ./fox.png`, /--url \.\/fox\.png: a path on this machine/],
    [
      'localhost',
      cmd`${made} --url http://localhost:8000/fox.png`,
      /localhost is not a public host; put the file where/,
    ],
    ['both modes', cmd`list --token t --page 1 --page-size 5`, /--token t: .*cannot be mixed/],
    ['a limit with a page', cmd`list --limit 5 --page 1 --page-size 5`, /--limit 5: .*cannot be mixed/],
    ['a page without its size', cmd`list --page 1`, /--page-size: is needed with a page number/],
    ['past the last page', cmd`group list --page 101 --page-size 100`, /--page 101: .*past item 10000/],
    ['101 items', cmd`list --limit 101`, /--limit 101: give a number from 1 to 100/],
    ['a limit that is no number', cmd`list --limit ten`, /--limit ten: not a whole number/],
    ['--all by page', cmd`list --all --page 1 --page-size 5`, /--all: .*cannot be mixed/],
    ['a state that is none', cmd`list --status active`, /--status active: one of Active, Processing, Failed/],
    ['--offset without --rest', cmd`list --offset 5`, /--offset 5: only --rest/],
    ['--rest with a token', cmd`list --rest --token x`, /--token: --rest takes only/],
    [
      '--rest with a project',
      cmd`list --rest --project p`,
      /--project p: GET \/api\/assets takes no project/,
    ],
    [
      '--rest with two states',
      cmd`list --rest --status Active --status Failed`,
      /--status: --rest takes one/,
    ],
    ['--rest with 101', cmd`list --rest --limit 101`, /--limit 101: give a number from 1 to 100/],
    ['--rest with a body', cmd`list --rest --set a=1`, /--set: with --rest there is no request body/],
    ['get --rest in a project', cmd`get asset-1 --rest --project p`, /takes no project/],
    ['an empty ID', cmd`get ""`, /"": not an ID/],
    ['an ID with a path in it', cmd`get a/../b`, /a\/\.\.\/b: not an ID/],
    ['nothing to change', cmd`update asset-1`, /nothing would change/],
    ['nothing to change in a group', cmd`group update group-1 --project p`, /nothing would change/],
    ['an empty new name of a group', cmd`group update group-1 --name ""`, /--name.*is empty/],
    ['delete where nobody can be asked', cmd`delete asset-1`, /cannot be undone, and gw cannot ask here/],
    ['delete a group where nobody can be asked', cmd`group delete group-1`, /cannot be undone/],
    ['no ID', ['wait'], /gw asset wait needs ID/],
  ])('%s', async ([_, argv, sentence], { world }) => {
    const run = await world.gw(['asset', ...argv], { stdin: '' });
    expect(run.code, run.err).toBe(2);
    expect(run.err).toMatch(sentence);
    expect(run.out).toBe('');
    expect(world.sandbox.requests).toEqual([]);
  });

  test('--no-validate sends it all the same and warns', async ({ world }) => {
    const group = await newGroup(world);
    const argv = ['asset', 'create', '--group', group, '--url', 'http://localhost/fox.png', '--name', 'x'];
    const run = await world.gw([...argv, '--no-validate']);
    expect(run).toMatchObject({ code: 5, err: expect.stringMatching(/warning: --url.*not a public host/) });
    expect(run.err).toMatch(/error: CreateAsset: .*InvalidParameter\.URL, request \w+/);
  });

  test('a type against the ending is a warning', async ({ world }) => {
    const argv = ['asset', 'create', '--group', await newGroup(world), '--url', png, '--type', 'video'];
    const run = await world.gw([...argv, '--name', 'x']);
    expect(run).toMatchObject({
      code: 0,
      err: expect.stringMatching(/--type Video: the ending of the URL says Image/),
    });
  });
});

describe('create', () => {
  test('prints the ID; with --json the one object', async ({ world }) => {
    const group = await newGroup(world);
    expect(group).toMatch(/^group-[\w-]+$/);
    const run = await world.gw(cmd`asset upload --group ${group} --url ${png} --name fox --json`);
    const id = JSON.parse(run.out).record.Result.Id;
    expect(JSON.parse(run.out)).toMatchObject({ family: 'asset', id, status: 'Processing', files: [] });
    const made = await world.gw(['asset', 'group', 'create', '--name', 'x', '--json']);
    expect(JSON.parse(made.out)).toMatchObject({
      family: 'asset-group',
      id: expect.stringMatching(/^group-/),
    });
  });

  test('--wait looks until it is Active; the ID is told before', async ({ world }) => {
    const group = await newGroup(world);
    const run = await world.ok(cmd`asset create --group ${group} --url ${png} --name fox --wait`);
    expect(run.err).toContain(`asset ${run.out.trim()}`);
    expect(actionsSent(world).filter((action) => action === 'GetAsset').length).toBeGreaterThan(0);
    const seen = await world.gw(['asset', 'get', run.out.trim()]);
    expect(seen.out).toMatch(/Status +Active/);
  });

  test.each([
    ['unavailable', 'AssetURLUnavailable', 'could not be downloaded'],
    ['too-large', 'AssetTooLarge', 'download cap'],
    ['invalid', 'InvalidAsset', 'requirements'],
    ['mismatch', 'AssetTypeMismatch', 'another type'],
  ])('a file that is %s is exit 9 with its code and meaning', async (word, code, meaning) => {
    const world = await World.open();
    const url = `https://example.com/${word}/fox.png`;
    const argv = cmd`asset create --group ${await newGroup(world)} --url ${url} --name fox --wait`;
    const human = await world.gw(argv);
    expect(human).toMatchObject({ code: 9, out: '' });
    expect(human.err).toMatch(new RegExp(`error: asset .* failed: ${code}, .*${meaning}`));
    const json = await world.gw([...argv, '--json']);
    expect(json.code).toBe(9);
    expect(JSON.parse(json.out)).toMatchObject({ status: 'Failed', record: { Error: { Code: code } } });
    expect(JSON.parse(json.err.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: { kind: 'task_failed', code, task_id: expect.stringMatching(/^asset-/) },
    });
  });

  test('a wait that ends too early is exit 10 and names the way on', async () => {
    const world = await World.open({ speed: 0.01 });
    const argv = ['asset', 'create', '--group', await newGroup(world), '--url', png, '--name', 'fox'];
    const run = await world.gw([...argv, '--wait', '--wait-timeout', '30s']);
    expect(run.code).toBe(10);
    expect(run.err).toMatch(/wait on with: gw asset wait asset-\S+/);
  });

  test('a group of another project is not there', async ({ world }) => {
    const group = await newGroup(world, '--project', 'film');
    const argv = ['asset', 'create', '--group', group, '--url', png, '--name', 'fox'];
    const run = await world.gw(argv);
    expect(run).toMatchObject({ code: 4, err: expect.stringMatching(/ResourceNotFound, request \w+/) });
    await world.ok([...argv, '--project', 'film']);
  });
});
