/** Whether a JSON text may hold a number that JavaScript would write in another way: long digits, or a power of ten. */
export const mayHoldLongNumber = (text: string): boolean => /[\d.]{16}|\d[eE][+-]?\d/.test(text);
