import { expect, it } from 'vitest';
import { buyNumber } from '../../../src/daemon/calls/phone-routes.js';
import { ParleyError } from '../../../src/base/errors.js';

const signal = new AbortController().signal;
const offers = ['+12025550101', '+12025550102'].map((number) => ({ number, country: 'US', monthlyCents: 100 }));

function carrier(answers: Record<string, ParleyError>, found = offers) {
  const asked: string[] = [];
  return {
    asked,
    searchNumbers: () => Promise.resolve(found),
    buyNumber: (number: string) => {
      asked.push(number);
      const error = answers[number];
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    },
  };
}

const gone = (number: string) => new ParleyError('NUMBER_UNAVAILABLE', { number });

it('a number that has gone meanwhile makes way for the next one', async () => {
  const one = carrier({ '+12025550101': gone('+12025550101') });
  expect(await buyNumber(one, { country: 'US' }, signal)).toBe('+12025550102');
  const none = carrier({ '+12025550101': gone('+12025550101'), '+12025550102': gone('+12025550102') });
  await expect(buyNumber(none, { country: 'US' }, signal)).rejects.toMatchObject({ code: 'NUMBER_UNAVAILABLE' });
});

it('another refusal of the carrier is reported in its words, and nothing else is tried', async () => {
  const refused = new ParleyError('CARRIER_REFUSED', { carrier: 'twilio', reason: 'requires an address' });
  const one = carrier({ '+12025550101': refused });
  await expect(buyNumber(one, { country: 'US' }, signal)).rejects.toBe(refused);
  expect(one.asked).toEqual(['+12025550101']);
});

it('nothing that fits is said to be so', async () => {
  const nothing = buyNumber(carrier({}, []), { country: 'US', areaCode: '202' }, signal);
  await expect(nothing).rejects.toMatchObject({ code: 'NUMBER_NONE_FOR_SALE', details: { where: 'US, area 202' } });
});
