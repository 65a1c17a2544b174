/** The output limit that is sent where none was given: the surface requires one. A thinking budget is added to it. */
export const DEFAULT_MAX_TOKENS = 4096;
