/** Replay a run with another model, and compare. Nothing is done, and nothing is stored. */

import type { Replay, Run } from "@gatepost/client";
import { useState } from "preact/hooks";

import { client } from "../data/session.js";
import { focusOnMount } from "../ui/focus.js";
import { Dots } from "../ui/parts.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";
import { TurnView } from "./turn.js";

export function ReplayPanel({ run }: { run: Run }) {
  const [model, setModel] = useState("demo");
  const { isBusy, submit } = useSubmission({ isKept: true });
  const [replay, setReplay] = useState<Replay | undefined>(undefined);
  const start = () => submit(() => attempt(async () => setReplay(await client.replayRun({ id: run.id, model }, { timeout: 300_000 }))));
  return (
    <section class="card replay stack gap-3 pad">
      <form class="replay-form" onSubmit={(event) => (event.preventDefault(), void start())}>
        <label class="label grow">
          Model to compare with
          <input class="field" value={model} required spellcheck={false} ref={focusOnMount} onInput={(event) => setModel(event.currentTarget.value)} placeholder="openai:gpt-5" />
        </label>
        <button class="button primary" disabled={isBusy || model.trim() === ""}>
          {isBusy ? <Dots /> : "Replay"}
        </button>
      </form>
      {replay !== undefined && (
        <>
          <p class={`notice ${replay.same ? "is-same" : ""}`}>
            {replay.same ? `${toLine(replay.model, 60)} says and does the same.` : `${toLine(replay.model, 60)} says or does something else.`}
          </p>
          <div class="compare columns gap-4">
            <div class="stack top gap-2">
              <h2>As it was</h2>
              <ol class="turns stack gap-4">
                {replay.original.map((step) => (
                  <li key={step.number}>
                    <TurnView turn={step} />
                  </li>
                ))}
              </ol>
            </div>
            <div class="stack top gap-2">
              <h2>{toLine(replay.model, 60)}</h2>
              <ol class="turns stack gap-4">
                {replay.replayed.map((turn, index) => (
                  <li key={index}>
                    <TurnView turn={turn} />
                  </li>
                ))}
              </ol>
            </div>
          </div>
        </>
      )}
    </section>
  );
}
