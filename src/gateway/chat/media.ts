// The forms in which a chat message names an image ("Chat completions", `messages`).

const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/u;
const dataUri = /^data:image\/[a-z0-9.+-]+;base64,([A-Za-z0-9+/]+={0,2})$/;

export const isWebUrl = (text: string): boolean => webUrl.test(text);

/** Whether a text is a URL or a Base64 data URL of an image. */
export const isImageUrl = (text: string): boolean => isWebUrl(text) || dataUri.test(text);

export const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]+={0,2}$/.test(text);
