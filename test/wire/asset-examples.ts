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

const refused = (code: string, says: RegExp) => ({ refused: { code, says } });
const name64 = '1234567890123456789012345678901234567890123456789012345678901234';
/** One code point that is two UTF-16 units. */
const fox = '🦊';
const asset = { GroupId: GROUP, URL: 'https://example.com/fox.png', AssetType: 'Image', Name: 'fox' };
const aigc = { Filter: { GroupType: 'AIGC' } };

const groups: readonly AssetExample[] = [
  { action: 'CreateAssetGroup', rule: 'a name is enough', body: { Name: 'foxes' } },
  {
    action: 'CreateAssetGroup',
    rule: 'every field',
    body: { Name: 'foxes', Description: 'winter', GroupType: 'LivenessFace', ProjectName: 'film' },
  },
  { action: 'CreateAssetGroup', rule: 'the type in any case', body: { Name: 'foxes', GroupType: 'aigc' } },
  { action: 'CreateAssetGroup', rule: 'a name of 64 characters', body: { Name: name64 } },
  { action: 'CreateAssetGroup', rule: 'a name of 64 emoji', body: { Name: fox.repeat(64) } },
  {
    action: 'CreateAssetGroup',
    rule: 'the name is required',
    body: {},
    ...refused('MissingParameter.Name', /Name: is required/),
  },
  {
    action: 'CreateAssetGroup',
    rule: 'a name of 65 characters',
    body: { Name: `${name64}5` },
    ...refused('InvalidParameter.Name', /65 characters, and may have at most 64/),
  },
  {
    action: 'CreateAssetGroup',
    rule: 'a name of 65 emoji',
    body: { Name: fox.repeat(65) },
    ...refused('InvalidParameter.Name', /65 characters, and may have at most 64/),
  },
  {
    action: 'CreateAssetGroup',
    rule: 'a description of 300 characters',
    body: { Name: 'foxes', Description: fox.repeat(300) },
  },
  {
    action: 'CreateAssetGroup',
    rule: 'a description of 301 characters',
    body: { Name: 'foxes', Description: 'x'.repeat(301) },
    ...refused('InvalidParameter.Description', /301 characters, and may have at most 300/),
  },
  {
    action: 'CreateAssetGroup',
    rule: 'a type that is none',
    body: { Name: 'foxes', GroupType: 'Face' },
    ...refused('InvalidParameter.GroupType', /one of AIGC, LivenessFace/),
  },
  {
    action: 'CreateAssetGroup',
    rule: 'a name that is no text',
    body: { Name: 5 },
    ...refused('InvalidParameter.Name', /must be a text/),
  },
  { action: 'GetAssetGroup', rule: 'by its ID', body: { Id: GROUP } },
  {
    action: 'GetAssetGroup',
    rule: 'the ID is required',
    body: {},
    ...refused('MissingParameter.Id', /Id: is required/),
    onlyBody: true,
  },
  { action: 'UpdateAssetGroup', rule: 'a new name', body: { Id: GROUP, Name: 'red foxes' } },
  {
    action: 'UpdateAssetGroup',
    rule: 'a new description, which may be empty',
    body: { Id: GROUP, Description: '' },
  },
  {
    action: 'UpdateAssetGroup',
    rule: 'the new name is not empty',
    body: { Id: GROUP, Name: '' },
    ...refused('InvalidParameter.Name', /is empty/),
  },
  {
    action: 'UpdateAssetGroup',
    rule: 'a new name of 65 characters',
    body: { Id: GROUP, Name: `${name64}5` },
    ...refused('InvalidParameter.Name', /at most 64/),
  },
  {
    action: 'UpdateAssetGroup',
    rule: 'a new description of 301 characters',
    body: { Id: GROUP, Description: 'x'.repeat(301) },
    ...refused('InvalidParameter.Description', /at most 300/),
  },
  {
    action: 'UpdateAssetGroup',
    rule: 'the ID is required',
    body: { Name: 'red foxes' },
    ...refused('MissingParameter.Id', /Id: is required/),
    onlyBody: true,
  },
  {
    action: 'DeleteAssetGroup',
    rule: 'the ID is required',
    body: {},
    ...refused('MissingParameter.Id', /Id: is required/),
    onlyBody: true,
  },
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

const assets: readonly AssetExample[] = [
  { action: 'CreateAsset', rule: 'the smallest request', body: asset },
  { action: 'CreateAsset', rule: 'the type in any case', body: { ...asset, AssetType: 'iMAGE' } },
  {
    action: 'CreateAsset',
    rule: 'a video',
    body: { ...asset, AssetType: 'Video', URL: 'https://example.com/v' },
  },
  {
    action: 'CreateAsset',
    rule: 'audio',
    body: { ...asset, AssetType: 'Audio', URL: 'https://example.com/a' },
  },
  { action: 'CreateAsset', rule: 'the project of its group', body: { ...asset, ProjectName: 'default' } },
  { action: 'CreateAsset', rule: 'a name of 64 emoji', body: { ...asset, Name: fox.repeat(64) } },
  ...publicUrls.map((URL) => ({ action: 'CreateAsset', rule: `the URL ${URL}`, body: { ...asset, URL } })),
  {
    action: 'CreateAsset',
    rule: 'the group is required',
    body: { ...asset, GroupId: undefined },
    ...refused('MissingParameter.GroupId', /GroupId: is required/),
  },
  {
    action: 'CreateAsset',
    rule: 'the URL is required',
    body: { ...asset, URL: undefined },
    ...refused('MissingParameter.URL', /URL: is required/),
  },
  {
    action: 'CreateAsset',
    rule: 'the type is required',
    body: { ...asset, URL: 'https://example.com/fox', AssetType: undefined },
    ...refused('MissingParameter.AssetType', /AssetType: is required/),
  },
  {
    action: 'CreateAsset',
    rule: 'the name is required',
    body: { ...asset, Name: undefined },
    ...refused('MissingParameter.Name', /Name: is required/),
  },
  {
    action: 'CreateAsset',
    rule: 'a type that is none',
    body: { ...asset, AssetType: 'Document' },
    ...refused('InvalidParameter.AssetType', /one of Image, Video, Audio/),
  },
  {
    action: 'CreateAsset',
    rule: 'a name of 65 characters',
    body: { ...asset, Name: `${name64}5` },
    ...refused('InvalidParameter.Name', /at most 64/),
  },
  {
    action: 'CreateAsset',
    rule: 'a group ID with a scheme',
    body: { ...asset, GroupId: 'asset://group-1' },
    ...refused('InvalidParameter.GroupId', /without asset:\/\//),
  },
  ...privateUrls.map(([URL, says]) => ({
    action: 'CreateAsset',
    rule: `the URL ${URL}`,
    body: { ...asset, URL },
    ...refused('InvalidParameter.URL', says),
  })),
  { action: 'GetAsset', rule: 'by its ID', body: { Id: ASSET } },
  {
    action: 'GetAsset',
    rule: 'the ID is bare',
    body: { Id: `asset://${ASSET}` },
    ...refused('InvalidParameter.Id', /without asset:\/\//),
    onlyBody: true,
  },
  {
    action: 'GetAsset',
    rule: 'the ID is required',
    body: {},
    ...refused('MissingParameter.Id', /Id: is required/),
    onlyBody: true,
  },
  { action: 'UpdateAsset', rule: 'a new name', body: { Id: ASSET, Name: 'red fox' } },
  {
    action: 'UpdateAsset',
    rule: 'a new name of 65 characters',
    body: { Id: ASSET, Name: `${name64}5` },
    ...refused('InvalidParameter.Name', /65 characters, and may have at most 64/),
  },
  {
    action: 'UpdateAsset',
    rule: 'the ID is required',
    body: { Name: 'red fox' },
    ...refused('MissingParameter.Id', /Id: is required/),
    onlyBody: true,
  },
  {
    action: 'DeleteAsset',
    rule: 'the ID is required',
    body: {},
    ...refused('MissingParameter.Id', /Id: is required/),
    onlyBody: true,
  },
];

const lists: readonly AssetExample[] = ['ListAssets', 'ListAssetGroups'].flatMap((action): AssetExample[] => [
  { action, rule: 'the smallest list', body: aigc },
  { action, rule: 'the type in any case', body: { Filter: { GroupType: 'livenessface' } } },
  {
    action,
    rule: 'every filter, sorted, in a project',
    body: {
      Filter: { GroupType: 'AIGC', Name: 'fox', GroupIds: [GROUP, 'group-2'] },
      SortBy: 'UpdateTime',
      SortOrder: 'Asc',
      MaxResults: 50,
      ProjectName: 'film',
    },
  },
  { action, rule: '100 items', body: { ...aigc, MaxResults: 100 } },
  { action, rule: 'one item', body: { ...aigc, MaxResults: 1 } },
  { action, rule: 'by page', body: { ...aigc, PageNumber: 1, PageSize: 20 } },
  { action, rule: 'the last page that there can be', body: { ...aigc, PageNumber: 100, PageSize: 100 } },
  {
    action,
    rule: 'the filter is required',
    body: {},
    ...refused('MissingParameter.Filter', /Filter: is required/),
    onlyBody: true,
  },
  {
    action,
    rule: 'the type of the groups is required',
    body: { Filter: {} },
    ...refused('MissingParameter.Filter.GroupType', /GroupType: is required/),
    onlyBody: true,
  },
  {
    action,
    rule: 'a type that is none',
    body: { Filter: { GroupType: 'Faces' } },
    ...refused('InvalidParameter.Filter.GroupType', /one of AIGC, LivenessFace/),
  },
  {
    action,
    rule: 'a name of 65 characters',
    body: { Filter: { GroupType: 'AIGC', Name: `${name64}5` } },
    ...refused('InvalidParameter.Filter.Name', /at most 64/),
  },
  {
    action,
    rule: 'no order that there is',
    body: { ...aigc, SortOrder: 'desc' },
    ...refused('InvalidParameter.SortOrder', /one of Desc, Asc/),
  },
  {
    action,
    rule: 'nothing to sort by that there is',
    body: { ...aigc, SortBy: 'Name' },
    ...refused('InvalidParameter.SortBy', /one of CreateTime, UpdateTime/),
  },
  {
    action,
    rule: 'no items',
    body: { ...aigc, MaxResults: 0 },
    ...refused('InvalidParameter.MaxResults', /give a number from 1 to 100/),
  },
  {
    action,
    rule: '101 items',
    body: { ...aigc, MaxResults: 101 },
    ...refused('InvalidParameter.MaxResults', /give a number from 1 to 100/),
  },
  {
    action,
    rule: 'half an item',
    body: { ...aigc, MaxResults: 1.5 },
    ...refused('InvalidParameter.MaxResults', /whole number/),
  },
  {
    action,
    rule: 'a page without its size',
    body: { ...aigc, PageNumber: 1 },
    ...refused('MissingParameter.PageSize', /needed with a page number/),
  },
  {
    action,
    rule: 'a size without its page',
    body: { ...aigc, PageSize: 10 },
    ...refused('MissingParameter.PageNumber', /needed with a page size/),
  },
  {
    action,
    rule: 'page 0',
    body: { ...aigc, PageNumber: 0, PageSize: 10 },
    ...refused('InvalidParameter.PageNumber', /counted from 1/),
  },
  {
    action,
    rule: 'a page of 101',
    body: { ...aigc, PageNumber: 1, PageSize: 101 },
    ...refused('InvalidParameter.PageSize', /give a number from 1 to 100/),
  },
  {
    action,
    rule: 'a page past item 10000',
    body: { ...aigc, PageNumber: 101, PageSize: 100 },
    ...refused('InvalidParameter.PageNumber', /past item 10000/),
  },
  {
    action,
    rule: 'a token and a page',
    body: { ...aigc, NextToken: 'abc', PageNumber: 1, PageSize: 10 },
    ...refused('InvalidParameter.NextToken', /cannot be mixed/),
  },
  {
    action,
    rule: 'both sizes',
    body: { ...aigc, MaxResults: 10, PageNumber: 1, PageSize: 10 },
    ...refused('InvalidParameter.MaxResults', /cannot be mixed/),
  },
]);

const onlyAssetLists: readonly AssetExample[] = [
  {
    action: 'ListAssets',
    rule: 'every state',
    body: { Filter: { GroupType: 'AIGC', Statuses: ['Active', 'Processing', 'Failed'] }, SortBy: 'GroupId' },
  },
  {
    action: 'ListAssets',
    rule: 'a state that is none',
    body: { Filter: { GroupType: 'AIGC', Statuses: ['active'] } },
    ...refused('InvalidParameter.Filter.Statuses', /one of Active, Processing, Failed/),
  },
  {
    action: 'ListAssetGroups',
    rule: 'groups are not sorted by their groups',
    body: { ...aigc, SortBy: 'GroupId' },
    ...refused('InvalidParameter.SortBy', /one of CreateTime, UpdateTime/),
  },
];

export const assetExamples: readonly AssetExample[] = [...groups, ...assets, ...lists, ...onlyAssetLists];
