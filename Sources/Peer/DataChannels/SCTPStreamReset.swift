import Basics

/// Stream resets (RFC 6525): how channels close.
extension SCTPAssociation {
    func reset(_ stream: UInt16, at now: Instant) {
        wantReset(stream)
        flush(at: now)
    }

    private func wantReset(_ stream: UInt16) {
        if resetWanted.count < Self.mostNamedStreams { resetWanted.insert(stream) }
    }

    func beginReset(at now: Instant) {
        guard !resetWanted.isEmpty else { return }
        // What was queued before goes first.
        let streams = resetWanted.filter { unfinished[$0] == nil }
        guard !streams.isEmpty else { return }
        resetWanted.subtract(streams)
        resetRequest = (nextRequest, streams.sorted(), nextTSN &- 1)
        nextRequest &+= 1
        sendReset(at: now)
    }

    func sendReset(at now: Instant) {
        guard let resetRequest else { return }
        control.append(
            .reconfig([
                .resetOutgoing(
                    request: resetRequest.number, response: peerRequest &- 1, lastTSN: resetRequest.lastTSN,
                    streams: resetRequest.streams)
            ]))
        resetAt = now + retransmissionTimeout
    }

    func reconfigure(_ parameter: SCTPReconfig) {
        switch parameter {
        case .response(let request, let result):
            guard let pendingReset = resetRequest, pendingReset.number == request else { return }
            errors = 0
            // 6 is "in progress": asked again when the timer says so.
            guard result != 6 else { return }
            resetRequest = nil
            resetAt = nil
            for stream in pendingReset.streams { outboundSSN[stream] = nil }
            events.append(.outgoingReset(pendingReset.streams))
        case .resetOutgoing(let request, _, let lastTSN, let streams):
            respond(request) {
                // Not before all that was sent on it is here, and delivered.
                guard !serialLess(self.numbers.cumulative, lastTSN), !self.reassembly.hasUndelivered else { return 6 }
                self.reassembly.reset(streams)
                self.events.append(.incomingReset(streams))
                return 1
            }
        case .resetIncoming(let request, let streams):
            respond(request) {
                for stream in streams where stream < self.configuration.streams { self.wantReset(stream) }
                return 1
            }
        // Adding streams and the like: denied.
        case .other(let request): respond(request) { 2 }
        }
    }

    private func respond(_ request: UInt32, _ body: () -> UInt32) {
        if request == peerRequest {
            let result = body()
            if result != 6 {
                peerRequest &+= 1
                lastResult = result
            }
            control.append(.reconfig([.response(request: request, result: result)]))
        } else {
            // The one before again: our answer was lost. Anything else is a bad sequence number.
            control.append(.reconfig([.response(request: request, result: request == peerRequest &- 1 ? lastResult : 5)]))
        }
    }
}
