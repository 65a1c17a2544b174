import type { Asset, AssetGroup } from '../../gateway/asset/record.ts';
import { readAsset } from '../../gateway/asset/record.ts';
import type { Table } from '../../io/io.ts';

const cell = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '-' : String(value);

export const assetTable = (assets: readonly Asset[]): Table => ({
  columns: [
    { name: 'id', whole: true },
    { name: 'type', whole: true },
    { name: 'status', whole: true },
    { name: 'name' },
    { name: 'group', optional: true },
    { name: 'created', optional: true },
    { name: 'error', optional: true },
  ],
  rows: assets.map((asset) => {
    const { id, type, status, error } = readAsset(asset);
    const cells = [
      id,
      type ?? cell(asset.AssetType),
      cell(status),
      cell(asset.Name),
      cell(asset.GroupId),
      cell(asset.CreateTime),
      cell(error.code),
    ];
    return { id, cells };
  }),
});

export const groupTable = (groups: readonly AssetGroup[]): Table => ({
  columns: [
    { name: 'id', whole: true },
    { name: 'type', whole: true },
    { name: 'name' },
    { name: 'description', optional: true },
    { name: 'created', optional: true },
  ],
  rows: groups.map((group) => ({
    id: group.Id,
    cells: [
      group.Id,
      cell(group.GroupType),
      cell(group.Name),
      cell(group.Description),
      cell(group.CreateTime),
    ],
  })),
});
