/** One submission at a time: what is pressed or clicked again before the answer is there does nothing. */

import { useRef, useState } from "preact/hooks";

interface Submission {
  /** For the button, which shows that the form is being sent. */
  isBusy: boolean;
  submit: (action: () => Promise<unknown>) => Promise<void>;
}

export function useSubmission(): Submission {
  const [isBusy, setBusy] = useState(false);
  // The state is only known after the next rendering, and a second key may come before.
  const isSending = useRef(false);
  const submit = async (action: () => Promise<unknown>) => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    try {
      await action();
    } finally {
      isSending.current = false;
      setBusy(false);
    }
  };
  return { isBusy, submit };
}
