import type { Carrier, NumberQuery } from '../carriers/carrier.js';
import { ParleyError } from '../errors.js';

/** So many of the numbers that fit are tried, where others buy them in the meantime. */
const OFFERS = 5;

/**
 * Buys the first number that fits and is still there.
 * @throws ParleyError NUMBER_NONE_FOR_SALE where nothing fits, NUMBER_UNAVAILABLE where all that fitted have gone
 */
export async function buyNumber(
  carrier: Pick<Carrier, 'searchNumbers' | 'buyNumber'>,
  where: Omit<NumberQuery, 'limit'>,
  signal: AbortSignal,
): Promise<string> {
  const offers = await carrier.searchNumbers({ ...where, limit: OFFERS }, signal);
  let gone: ParleyError | null = null;
  for (const { number } of offers) {
    try {
      await carrier.buyNumber(number, signal);
      return number;
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'NUMBER_UNAVAILABLE') throw error;
      gone = error;
    }
  }
  if (gone !== null) throw gone;
  const { country, areaCode } = where;
  throw new ParleyError('NUMBER_NONE_FOR_SALE', {
    where: areaCode === undefined ? country : `${country}, area ${areaCode}`,
  });
}
