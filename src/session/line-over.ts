import type { Transport } from '../transports/transport.js';

/** A transport with some methods replaced; everything else, including omitted methods, is that of the original. */
export function lineOver(
  transport: Transport,
  methods: Partial<Pick<Transport, 'start' | 'play' | 'send' | 'sendDigits' | 'transfer' | 'close' | 'showsForms'>> & {
    leadMs?: number | undefined;
  },
): Transport {
  return new Proxy(transport, {
    get(target, key) {
      if (Object.hasOwn(methods, key)) return Reflect.get(methods, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
