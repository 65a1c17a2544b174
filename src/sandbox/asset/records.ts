import { type KeptAsset, type KeptGroup, statusOf, timeText } from './library.ts';

/** A group as the gateway shows it ("Asset group object fields"). */
export const groupRecord = (group: KeptGroup) => ({
  Id: group.id,
  Name: group.name,
  Description: group.description,
  GroupType: group.type,
  ProjectName: group.project,
  CreateTime: timeText(group.createdAtMs),
  UpdateTime: timeText(group.updatedAtMs),
});

/** An asset as the gateway shows it at `nowMs` ("Asset object fields"). */
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
