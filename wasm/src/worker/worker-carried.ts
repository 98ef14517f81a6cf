// SPDX-License-Identifier: Apache-2.0
/** This is the script of the worker that the one script which carries everything starts. */
import { answerMessages } from "./web-host.js";

answerMessages(() => import("../tokenizer/kinds.js"));
