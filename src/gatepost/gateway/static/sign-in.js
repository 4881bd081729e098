// The token is behind the `#`, where no server sees it. It leaves the address before anything else happens.
const token = location.hash.slice(1);
history.replaceState(null, "", "/sign-in");

const find = (id) => document.getElementById(id);

function showHelp(problem) {
  find("progress").hidden = true;
  find("question").hidden = true;
  find("help").hidden = false;
  find("problem").hidden = problem === undefined;
  find("problem").textContent = problem ?? "";
}

/** Ask whether a browser that is signed in as one person shall be another's: a link may come in anybody's message. */
function showQuestion({ signedInAs, linkFor }) {
  for (const element of document.querySelectorAll(".current")) element.textContent = signedInAs;
  for (const element of document.querySelectorAll(".linked")) element.textContent = linkFor;
  find("progress").hidden = true;
  find("question").hidden = false;
  find("stay").focus();
}

async function signIn(replace) {
  find("progress").hidden = false;
  find("question").hidden = true;
  try {
    const response = await fetch("/api/sign-in", {
      method: "POST",
      headers: { "content-type": "application/json", "x-gatepost-page": "1" },
      body: JSON.stringify({ token, replace }),
    });
    if (response.ok) {
      new BroadcastChannel("gatepost:session").postMessage("signed-in"); // to tabs that show the page
      return location.replace("/");
    }
    const problem = await response.json();
    if (problem.signedInAs !== undefined) return showQuestion(problem);
    const text = problem.detail ?? `the gateway answered ${response.status}`;
    showHelp(`${text[0].toUpperCase()}${text.slice(1)}.`);
  } catch {
    showHelp("The gateway does not answer. Is it running?");
  }
}

if (token === "") showHelp();
else void signIn(false);
find("stay").addEventListener("click", () => location.replace("/"));
find("replace").addEventListener("click", () => void signIn(true));
// A link that is opened in a tab that shows this page changes only the part behind the `#`.
addEventListener("hashchange", () => location.reload());
