import type { GammaContentItem } from '../../gateway/gamma/create.ts';
import { GAMMA_TOTAL_REFERENCE_S, gammaMedia } from '../../gateway/gamma/models.ts';
import type { Modality } from '../../gateway/media-limits.ts';
import { base64Bytes, readImageSize } from '../base64-image.ts';
import { checkMedia } from '../media-check.ts';
import { refuseField } from '../request-body.ts';

/** What a request holds of media; the seconds are of those that came as Base64, as addresses are not fetched. */
export interface GammaInput {
  readonly images: number;
  readonly videoS: number;
  readonly audioS: number;
  /** Of the first image, where it came as Base64. */
  readonly imageSize?: { readonly width: number; readonly height: number };
}

function mediumOf(item: GammaContentItem): { readonly modality: Modality; readonly url: string } | undefined {
  if (item.type === 'image_url') return { modality: 'image', url: item.image_url.url };
  if (item.type === 'video_url') return { modality: 'video', url: item.video_url.url };
  if (item.type === 'audio_url') return { modality: 'audio', url: item.audio_url.url };
  return undefined;
}

/**
 * Checks and counts a request's media: what came as Base64 must keep the limits of its kind and the total of seconds
 * ("Family C endpoints", "Media limits"). Throws Refusal (400).
 */
export async function readGammaInput(content: readonly GammaContentItem[]): Promise<GammaInput> {
  const seconds = { image: 0, video: 0, audio: 0 };
  let images = 0;
  let imageSize: GammaInput['imageSize'];
  for (const [nth, item] of content.entries()) {
    const medium = mediumOf(item);
    if (!medium) continue;
    const { modality, url } = medium;
    if (modality === 'image') images++;
    const bytes = base64Bytes(url);
    if (!bytes) continue;
    const path = ['content', nth, item.type, 'url'];
    const { durationS = 0 } = await checkMedia(modality, bytes, gammaMedia[modality], (rule) =>
      refuseField(path, rule),
    );
    seconds[modality] += durationS;
    if (seconds[modality] > GAMMA_TOTAL_REFERENCE_S) {
      const sum = seconds[modality].toFixed(1);
      throw refuseField(
        path,
        `${sum} s of ${modality} in all, at most ${GAMMA_TOTAL_REFERENCE_S} s are taken`,
      );
    }
    if (modality === 'image' && images === 1) imageSize = await readImageSize(bytes);
  }
  return { images, videoS: seconds.video, audioS: seconds.audio, ...(imageSize && { imageSize }) };
}
