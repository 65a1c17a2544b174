// Literal request bodies of the asset library, written by hand after the gateway's document: what each action accepts and
// what it refuses, rule by rule. Nothing here may be computed from the product's own tables. The two IDs stand for a group
// and an asset that exist.

export const GROUP = 'group-20261120120000-fox';
export const ASSET = 'asset-20261120120000-fox';

export interface AssetExample {
  readonly action: string;
  readonly rule: string;
  readonly body: unknown;
  /** The code of the refusal, and a pattern that names the rule. When unset, the body is accepted. */
  readonly refused?: { readonly code: string; readonly says: RegExp };
  /** Only the body itself is refused: the command fills in the missing field, or never sends such a body. */
  readonly onlyBody?: true;
}

const examplesOf =
  (action: string) =>
  (rule: string, body: unknown, code?: string, says = /./): AssetExample => ({
    action,
    rule,
    body,
    ...(code !== undefined && { refused: { code, says } }),
  });
const onlyBody = (refused: AssetExample): AssetExample => ({ ...refused, onlyBody: true });
const name64 = '1234567890123456789012345678901234567890123456789012345678901234';
/** One code point that is two UTF-16 units. */
const fox = '🦊';
const asset = { GroupId: GROUP, URL: 'https://example.com/fox.png', AssetType: 'Image', Name: 'fox' };
const aigc = { Filter: { GroupType: 'AIGC' } };

const createGroup = examplesOf('CreateAssetGroup');
const getGroup = examplesOf('GetAssetGroup');
const updateGroup = examplesOf('UpdateAssetGroup');
const deleteGroup = examplesOf('DeleteAssetGroup');

const groups: readonly AssetExample[] = [
  createGroup('a name is enough', { Name: 'foxes' }),
  createGroup('every field', {
    Name: 'foxes',
    Description: 'winter',
    GroupType: 'LivenessFace',
    ProjectName: 'film',
  }),
  createGroup('the type in any case', { Name: 'foxes', GroupType: 'aigc' }),
  createGroup('a name of 64 characters', { Name: name64 }),
  createGroup('a name of 64 emoji', { Name: fox.repeat(64) }),
  createGroup('the name is required', {}, 'MissingParameter.Name', /Name: is required/),
  createGroup(
    'a name of 65 characters',
    { Name: `${name64}5` },
    'InvalidParameter.Name',
    /65 characters, and may have at most 64/,
  ),
  createGroup(
    'a name of 65 emoji',
    { Name: fox.repeat(65) },
    'InvalidParameter.Name',
    /65 characters, and may have at most 64/,
  ),
  createGroup('a description of 300 characters', { Name: 'foxes', Description: fox.repeat(300) }),
  createGroup(
    'a description of 301 characters',
    { Name: 'foxes', Description: 'x'.repeat(301) },
    'InvalidParameter.Description',
    /301 characters, and may have at most 300/,
  ),
  createGroup(
    'a type that is none',
    { Name: 'foxes', GroupType: 'Face' },
    'InvalidParameter.GroupType',
    /one of AIGC, LivenessFace/,
  ),
  createGroup('a name that is no text', { Name: 5 }, 'InvalidParameter.Name', /must be a text/),
  getGroup('by its ID', { Id: GROUP }),
  onlyBody(getGroup('the ID is required', {}, 'MissingParameter.Id', /Id: is required/)),
  updateGroup('a new name', { Id: GROUP, Name: 'red foxes' }),
  updateGroup('a new description, which may be empty', { Id: GROUP, Description: '' }),
  updateGroup('the new name is not empty', { Id: GROUP, Name: '' }, 'InvalidParameter.Name', /is empty/),
  updateGroup(
    'a new name of 65 characters',
    { Id: GROUP, Name: `${name64}5` },
    'InvalidParameter.Name',
    /at most 64/,
  ),
  updateGroup(
    'a new description of 301 characters',
    { Id: GROUP, Description: 'x'.repeat(301) },
    'InvalidParameter.Description',
    /at most 300/,
  ),
  onlyBody(
    updateGroup('the ID is required', { Name: 'red foxes' }, 'MissingParameter.Id', /Id: is required/),
  ),
  onlyBody(deleteGroup('the ID is required', {}, 'MissingParameter.Id', /Id: is required/)),
];

const publicUrls = [
  'https://example.com/fox.png',
  'http://example.com:8080/fox.png?size=2#top',
  'https://8.8.8.8/fox.png',
  'https://[2606:4700::1]/fox.png',
  'https://172.32.0.1/fox.png',
];
const privateUrls: readonly (readonly [string, RegExp])[] = [
  ['fox.png', /a path on this machine/],
  ['/home/me/fox.png', /a path on this machine/],
  ['file:///home/me/fox.png', /a path on this machine/],
  ['data:image/png;base64,AAAA', /gw sends only the address of a file here/],
  ['ftp://example.com/fox.png', /only http:\/\/ and https:\/\//],
  ['asset://asset-1', /an asset already/],
  ['https://', /not a complete address/],
  ['https://example.com/a fox.png', /white space/],
  ['http://localhost/fox.png', /localhost is not a public host/],
  ['http://foo.localhost./fox.png', /not a public host/],
  ['http://printer.local/fox.png', /not a public host/],
  ['http://intranet/fox.png', /not a public host/],
  ['http://127.0.0.1:8000/fox.png', /not a public host/],
  ['http://2130706433/fox.png', /127\.0\.0\.1 is not a public host/],
  ['http://0x7f.1/fox.png', /127\.0\.0\.1 is not a public host/],
  ['http://0.0.0.0/fox.png', /not a public host/],
  ['http://10.1.2.3/fox.png', /not a public host/],
  ['http://172.16.0.1/fox.png', /not a public host/],
  ['http://172.31.255.255/fox.png', /not a public host/],
  ['http://192.168.1.10/fox.png', /not a public host/],
  ['http://169.254.169.254/latest/meta-data', /not a public host/],
  ['http://100.64.0.1/fox.png', /not a public host/],
  ['http://224.0.0.1/fox.png', /not a public host/],
  ['http://[::1]/fox.png', /not a public host/],
  ['http://[::]/fox.png', /not a public host/],
  ['http://[fe80::1]/fox.png', /not a public host/],
  ['http://[fc00::1]/fox.png', /not a public host/],
  ['http://[fd12:3456::1]/fox.png', /not a public host/],
  ['http://[ff02::1]/fox.png', /not a public host/],
  ['http://[::ffff:192.168.1.1]/fox.png', /not a public host/],
  ['http://[64:ff9b::10.0.0.1]/fox.png', /not a public host/],
];

const create = examplesOf('CreateAsset');
const get = examplesOf('GetAsset');
const update = examplesOf('UpdateAsset');
const remove = examplesOf('DeleteAsset');

const assets: readonly AssetExample[] = [
  create('the smallest request', asset),
  create('the type in any case', { ...asset, AssetType: 'iMAGE' }),
  create('a video', { ...asset, AssetType: 'Video', URL: 'https://example.com/v' }),
  create('audio', { ...asset, AssetType: 'Audio', URL: 'https://example.com/a' }),
  create('the project of its group', { ...asset, ProjectName: 'default' }),
  create('a name of 64 emoji', { ...asset, Name: fox.repeat(64) }),
  ...publicUrls.map((URL) => create(`the URL ${URL}`, { ...asset, URL })),
  create(
    'the group is required',
    { ...asset, GroupId: undefined },
    'MissingParameter.GroupId',
    /GroupId: is required/,
  ),
  create('the URL is required', { ...asset, URL: undefined }, 'MissingParameter.URL', /URL: is required/),
  create(
    'the type is required',
    { ...asset, URL: 'https://example.com/fox', AssetType: undefined },
    'MissingParameter.AssetType',
    /AssetType: is required/,
  ),
  create('the name is required', { ...asset, Name: undefined }, 'MissingParameter.Name', /Name: is required/),
  create(
    'a type that is none',
    { ...asset, AssetType: 'Document' },
    'InvalidParameter.AssetType',
    /one of Image, Video, Audio/,
  ),
  create('a name of 65 characters', { ...asset, Name: `${name64}5` }, 'InvalidParameter.Name', /at most 64/),
  create(
    'a group ID with a scheme',
    { ...asset, GroupId: 'asset://group-1' },
    'InvalidParameter.GroupId',
    /without asset:\/\//,
  ),
  ...privateUrls.map(([URL, says]) =>
    create(`the URL ${URL}`, { ...asset, URL }, 'InvalidParameter.URL', says),
  ),
  get('by its ID', { Id: ASSET }),
  onlyBody(get('the ID is bare', { Id: `asset://${ASSET}` }, 'InvalidParameter.Id', /without asset:\/\//)),
  onlyBody(get('the ID is required', {}, 'MissingParameter.Id', /Id: is required/)),
  update('a new name', { Id: ASSET, Name: 'red fox' }),
  update(
    'a new name of 65 characters',
    { Id: ASSET, Name: `${name64}5` },
    'InvalidParameter.Name',
    /65 characters, and may have at most 64/,
  ),
  onlyBody(update('the ID is required', { Name: 'red fox' }, 'MissingParameter.Id', /Id: is required/)),
  onlyBody(remove('the ID is required', {}, 'MissingParameter.Id', /Id: is required/)),
];

const [listAssets, listGroups] = [examplesOf('ListAssets'), examplesOf('ListAssetGroups')];

const lists = [listAssets, listGroups].flatMap((list) => [
  list('the smallest list', aigc),
  list('the type in any case', { Filter: { GroupType: 'livenessface' } }),
  list('every filter, sorted, in a project', {
    Filter: { GroupType: 'AIGC', Name: 'fox', GroupIds: [GROUP, 'group-2'] },
    SortBy: 'UpdateTime',
    SortOrder: 'Asc',
    MaxResults: 50,
    ProjectName: 'film',
  }),
  list('100 items', { ...aigc, MaxResults: 100 }),
  list('one item', { ...aigc, MaxResults: 1 }),
  list('by page', { ...aigc, PageNumber: 1, PageSize: 20 }),
  list('the last page that there can be', { ...aigc, PageNumber: 100, PageSize: 100 }),
  onlyBody(list('the filter is required', {}, 'MissingParameter.Filter', /Filter: is required/)),
  onlyBody(
    list(
      'the type of the groups is required',
      { Filter: {} },
      'MissingParameter.Filter.GroupType',
      /GroupType: is required/,
    ),
  ),
  list(
    'a type that is none',
    { Filter: { GroupType: 'Faces' } },
    'InvalidParameter.Filter.GroupType',
    /one of AIGC, LivenessFace/,
  ),
  list(
    'a name of 65 characters',
    { Filter: { GroupType: 'AIGC', Name: `${name64}5` } },
    'InvalidParameter.Filter.Name',
    /at most 64/,
  ),
  list(
    'no order that there is',
    { ...aigc, SortOrder: 'desc' },
    'InvalidParameter.SortOrder',
    /one of Desc, Asc/,
  ),
  list(
    'nothing to sort by that there is',
    { ...aigc, SortBy: 'Name' },
    'InvalidParameter.SortBy',
    /one of CreateTime, UpdateTime/,
  ),
  list('no items', { ...aigc, MaxResults: 0 }, 'InvalidParameter.MaxResults', /give a number from 1 to 100/),
  list(
    '101 items',
    { ...aigc, MaxResults: 101 },
    'InvalidParameter.MaxResults',
    /give a number from 1 to 100/,
  ),
  list('half an item', { ...aigc, MaxResults: 1.5 }, 'InvalidParameter.MaxResults', /whole number/),
  list(
    'a page without its size',
    { ...aigc, PageNumber: 1 },
    'MissingParameter.PageSize',
    /needed with a page number/,
  ),
  list(
    'a size without its page',
    { ...aigc, PageSize: 10 },
    'MissingParameter.PageNumber',
    /needed with a page size/,
  ),
  list('page 0', { ...aigc, PageNumber: 0, PageSize: 10 }, 'InvalidParameter.PageNumber', /counted from 1/),
  list(
    'a page of 101',
    { ...aigc, PageNumber: 1, PageSize: 101 },
    'InvalidParameter.PageSize',
    /give a number from 1 to 100/,
  ),
  list(
    'a page past item 10000',
    { ...aigc, PageNumber: 101, PageSize: 100 },
    'InvalidParameter.PageNumber',
    /past item 10000/,
  ),
  list(
    'a token and a page',
    { ...aigc, NextToken: 'abc', PageNumber: 1, PageSize: 10 },
    'InvalidParameter.NextToken',
    /cannot be mixed/,
  ),
  list(
    'both sizes',
    { ...aigc, MaxResults: 10, PageNumber: 1, PageSize: 10 },
    'InvalidParameter.MaxResults',
    /cannot be mixed/,
  ),
]);

const onlyAssetLists: readonly AssetExample[] = [
  listAssets('every state', {
    Filter: { GroupType: 'AIGC', Statuses: ['Active', 'Processing', 'Failed'] },
    SortBy: 'GroupId',
  }),
  listAssets(
    'a state that is none',
    { Filter: { GroupType: 'AIGC', Statuses: ['active'] } },
    'InvalidParameter.Filter.Statuses',
    /one of Active, Processing, Failed/,
  ),
  listGroups(
    'groups are not sorted by their groups',
    { ...aigc, SortBy: 'GroupId' },
    'InvalidParameter.SortBy',
    /one of CreateTime, UpdateTime/,
  ),
];

export const assetExamples: readonly AssetExample[] = [...groups, ...assets, ...lists, ...onlyAssetLists];
