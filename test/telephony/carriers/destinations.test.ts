import { describe, expect, it } from 'vitest';
import { isE164, whyNeverCalled } from '../../../src/telephony/carriers/destinations.js';
import { isAllowedExtension } from '../../../src/telephony/carriers/sip/open.js';
import { DEFAULT_SIP } from '../../../src/settings/carriers/sip.js';
import { checkDestination } from '../../../src/daemon/calls/dialer.js';

describe('numbers that are never called', () => {
  it.each([
    '911',
    '112',
    '999',
    '000',
    '110',
    '+911',
    '+112',
    '+1911',
    '+44999',
    '+49110',
    '+12115550100',
    '+19112345678',
  ])('%s: an emergency number or service', (number) => {
    expect(whyNeverCalled(number)).toMatch(/emergency/);
  });

  it.each([
    ['+19005551234', 'US premium (NANPA)'],
    ['+12029761234', '976 exchange'],
    ['+15005550006', 'US personal'],
    ['+449012345678', 'UK 09 (Ofcom)'],
    ['+448712345678', 'UK 087'],
    ['+447012345678', 'UK 070'],
    ['+33899123456', 'France 089 (Arcep)'],
    ['+499001234567', 'Germany 0900 (BNetzA)'],
    ['+491801234567', 'Germany 0180'],
    ['+39899123456', 'Italy 899'],
    ['+34803123456', 'Spain 803'],
    ['+31900123456', 'Netherlands 0900'],
    ['+611901234567', 'Australia 190'],
    ['+4411850012', 'UK directory, too short for a number'],
  ])('%s: expensive (%s)', (number) => {
    expect(whyNeverCalled(number)).toMatch(/premium|personal|short code/);
  });

  it.each(['+881612345678', '+8821234567', '+8831234567890', '+979123456789', '+87077391234', '+80812345678'])(
    '%s: of no country',
    (number) => {
      expect(whyNeverCalled(number)).toMatch(/satellite|network|international/);
    },
  );

  it.each(['+1 (900) 555-1234', 'tel:+19005551234', 'sip:+19005551234@example.org', 'sip:911@example.org'])(
    '%s: however it is written',
    (target) => {
      expect(whyNeverCalled(target)).not.toBeNull();
    },
  );

  it.each([
    'sip:303@pbx.example.org',
    'sip:4711@192.0.2.5:5062',
    'sips:200123@pbx.example.org',
    'sip:20@pbx',
    'sip:2025550199@pbx.example.org',
    'sip:303;phone-context=pbx@pbx.example.org',
  ])('%s is an extension, not a short code', (target) => {
    expect(whyNeverCalled(target)).toBeNull();
  });

  it.each([
    'sip:911@carrier.example.org',
    'sip:112@192.0.2.5;user=phone',
    'sips:999@pbx',
    'sip:+911@carrier.example.org',
    'sip:%39%31%31@carrier.example.org',
    'sip:9-1-1@carrier.example.org',
    'sip:911:secret@carrier.example.org',
    'sip:911;phone-context=+1@carrier.example.org',
    'sip:9911@pbx',
    'sip:0112@pbx',
    'sip:00999@pbx',
    'tel:911',
    'sip:911@bad host',
    '911',
    '+911',
  ])('%s is an emergency number, however it is written', (target) => {
    expect(whyNeverCalled(target)).toMatch(/emergency/);
  });

  it.each(['sip:0019005551234@carrier.example.org', '0019005551234', 'sip:+%31900555%31234@carrier.example.org'])(
    '%s is a premium number with another prefix',
    (target) => {
      expect(whyNeverCalled(target)).toMatch(/premium/);
    },
  );

  it.each(['303', 'tel:303', '4711'])('%s is a short code', (target) => {
    expect(whyNeverCalled(target)).toBe('it is a short code');
  });

  it.each(['sip:ann@example.org', 'the desk', ''])('%j is no number at all', (target) => {
    expect(whyNeverCalled(target)).toBeNull();
  });

  it.each(['+2101234567', '+999123456789', '+0123456789'])('%s: nowhere', (number) => {
    expect(whyNeverCalled(number)).toBe('no country has numbers that begin so');
  });

  it.each([
    '+12025550101',
    '+14155550100',
    '+16135550123',
    '+442079460000',
    '+447700900123',
    '+493012345678',
    '+33199001234',
    '+390612345678',
    '+34911234567',
    '+8613912345678',
    '+61491570156',
    '+18005550100',
  ])('%s is a number like others', (number) => {
    expect(whyNeverCalled(number)).toBeNull();
    expect(isE164(number)).toBe(true);
  });
});

describe('extensions that the operator allows', () => {
  const settings = {
    ...DEFAULT_SIP,
    servers: ['sip:192.0.2.5:5060'],
    extensions: 'all' as const,
    trunks: {
      office: { servers: ['sip:pbx.example.org'], domain: 'Office.example.org' },
      carrier: { servers: ['sip:carrier.example.org'], extensions: 'safe' as const },
    },
  };

  it.each([
    ['sip:101@192.0.2.5', true],
    ['sip:911@192.0.2.5:5070', true],
    ['sip:101@PBX.example.org', true],
    ['sip:101@office.example.org', true],
    ['sip:101@carrier.example.org', false],
    ['sip:101@other.example.org', false],
    ['sip:+19005551234@192.0.2.5', false],
    ['sip:9005551234@192.0.2.5', false],
    ['sip:101@192.0.2.5?Replaces=x', false],
    ['101', false],
  ])('%s: %s', (target, isAllowed) => {
    expect(isAllowedExtension(settings, target)).toBe(isAllowed);
    expect(isAllowedExtension(DEFAULT_SIP, target)).toBe(false);
  });
});

describe('numbers that the operator allows', () => {
  const code = (to: string, allowed: string[]): string => {
    try {
      checkDestination(to, allowed);
      return 'allowed';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it.each([
    ['+12025550101', ['+1'], 'allowed'],
    ['+442079460000', ['+1'], 'CALL_NOT_ALLOWED'],
    ['+442079460000', ['+1', '+44'], 'allowed'],
    ['+442079460000', ['*'], 'allowed'],
    ['+442079460000', [], 'CALL_NOT_ALLOWED'],
    ['+18765551234', ['+1'], 'CALL_NOT_ALLOWED'],
    ['+18765551234', ['+1876'], 'allowed'],
    ['+19005551234', ['*'], 'CALL_FORBIDDEN'],
    ['911', ['*'], 'CALL_FORBIDDEN'],
    ['2025550101', ['*'], 'CONFIG_INVALID'],
    ['+1 202 555 0101', ['*'], 'CONFIG_INVALID'],
    ['sip:ann@example.org', ['*'], 'CONFIG_INVALID'],
    ['', ['*'], 'CONFIG_INVALID'],
  ])('%s, where %j are: %s', (to, allowed, expected) => {
    expect(code(to, allowed)).toBe(expected);
  });
});
