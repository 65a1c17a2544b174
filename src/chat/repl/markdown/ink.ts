/** How the parts of a text are drawn. Without colour the marks of Markdown stay, because nothing else tells. */
export interface Ink {
  readonly hasColor: boolean;
  readonly strong: Paint;
  readonly emphasis: Paint;
  readonly deleted: Paint;
  readonly code: Paint;
  readonly link: Paint;
  readonly faint: Paint;
  readonly title: Paint;
  readonly heading: Paint;
}

export type Paint = (text: string) => string;

export const asIs: Paint = (text) => text;

/** Loads the colouring library, where there is colour. */
export async function loadInk(hasColor: boolean): Promise<Ink> {
  if (!hasColor) {
    return {
      hasColor,
      strong: asIs,
      emphasis: asIs,
      deleted: asIs,
      code: asIs,
      link: asIs,
      faint: asIs,
      title: asIs,
      heading: asIs,
    };
  }
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return {
    hasColor,
    strong: (text) => chalk.bold(text),
    emphasis: (text) => chalk.italic(text),
    deleted: (text) => chalk.strikethrough(text),
    code: (text) => chalk.cyan(text),
    link: (text) => chalk.underline(text),
    faint: (text) => chalk.dim(text),
    title: (text) => chalk.bold.underline(text),
    heading: (text) => chalk.bold(text),
  };
}
