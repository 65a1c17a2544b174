import { readLines } from '../../disk/read-lines.ts';
import { type Exchange, parseExchange } from './exchange.ts';

/**
 * Every exchange of a session's file in order, and how many lines could not be read; a missing file has none.
 * Throws the system's error, and GwError `usage` for a file of a newer format.
 */
export function readExchanges(file: string): { exchanges: Exchange[]; damaged: number } {
  const exchanges: Exchange[] = [];
  let damaged = 0;
  for (const line of readLines(file)) {
    const exchange = parseExchange(line, file);
    if (exchange === undefined) damaged += 1;
    else exchanges.push(exchange);
  }
  return { exchanges, damaged };
}
