/** What main.ts uses of packages without types of their own. */
declare module 'goertzel-filter' {
  export default function create(): {
    init(hz: number, rateHz: number, length: number): void;
    run(samples: Float32Array): number;
  };
}
