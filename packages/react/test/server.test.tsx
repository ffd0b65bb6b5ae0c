import type { ReactElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, it, vi } from 'vitest';
import { CallButton, Orb, ParleyProvider, Transcript, useCall, useDevices, useTranscript } from '../src/index.js';

function Everything(): ReactElement {
  const { state } = useCall();
  const { microphones } = useDevices();
  return <output>{`${state} ${String(microphones.length)} ${String(useTranscript().length)}`}</output>;
}

it('renders on a server, where there is no window, without a complaint', () => {
  expect([typeof window, typeof document]).toEqual(['undefined', 'undefined']);
  const complaint = vi.spyOn(console, 'error');
  const html = renderToString(
    <ParleyProvider publicKey="pk_1" agentId="olive">
      <Orb />
      <Transcript empty="Nothing yet" />
      <CallButton />
      <Everything />
    </ParleyProvider>,
  );
  expect(html).toContain('aria-label="Voice agent: Ready"');
  expect(html).toContain('<div role="log" aria-label="Transcript" tabindex="0" class="parley-transcript">');
  expect(html).toContain('>Start call</button><output>idle 0 0</output>');
  expect(complaint).not.toHaveBeenCalled();
  complaint.mockRestore();
});
