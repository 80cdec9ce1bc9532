import Basics

/// From packets in order to whole frames that can be decoded.
extension VideoReceiveBuffer {
    func inspect(_ payload: Span<UInt8>, into slot: inout Slot) {
        switch slot.codec {
        case .vp8:
            guard let (descriptor, size) = VP8Descriptor.parse(payload), size < payload.count, descriptor.startsFrame else {
                return
            }
            slot.startsVP8Frame = true
            if payload[size] & 1 == 0 { slot.keyframeStart = .certain }
        case .h264:
            guard let peek = H264Depacketizer.peek(payload) else { return }
            if peek.hasSPS {
                slot.keyframeStart = .certain
            } else if peek.hasIDR {
                slot.keyframeStart = .withKnownParameters
            }
        }
    }

    /// Looks for a keyframe's first packet among what is held.
    mutating func findKeyframe() {
        guard let start = keyframeStarts.first(from: oldest) else { return }
        next = start
        scan = start
        statistics.lost += nacks.removeBefore(start)
        drop(upTo: start)
    }

    /// A packet came: notes what begins with it, and with its successor, of which one may need to know what stands before it.
    mutating func noteStarts(_ sequence: Int64) {
        if slot(sequence)?.startsVP8Frame == true { vp8FrameStarts.insert(sequence) }
        for start in sequence...sequence + 1 where startsKeyframe(start) { keyframeStarts.insert(start) }
    }

    /// Whether a keyframe begins with this packet, as far as one can tell from it.
    func startsKeyframe(_ sequence: Int64) -> Bool {
        guard let slot = slot(sequence) else { return false }
        switch slot.keyframeStart {
        case .no: return false
        case .certain: return true
        case .withKnownParameters:
            // Its own parameter sets could have been in the packet before it.
            guard h264.hasParameterSets, let before = self.slot(sequence - 1) else { return false }
            return before.marker || before.timestamp != slot.timestamp
        }
    }

    /// Whether every packet of the frame that starts here is there.
    mutating func isWhole(from start: Int64) -> Bool {
        guard let highest, let first = slot(start) else { return false }
        var sequence = start
        if let unfinished, unfinished.start == start { sequence = unfinished.end }
        while sequence <= highest, let slot = slot(sequence) {
            if !slot.payload.isEmpty {
                if slot.timestamp != first.timestamp || slot.marker { return true }
            }
            sequence += 1
        }
        unfinished = (start, sequence)
        return false
    }

    /// Where the frame that starts at `start` ends, once it is complete.
    mutating func frameEnd(from start: Int64) -> Int64? {
        guard let highest else { return nil }
        var timestamp: Int64?
        var sequence = start
        if scan > start, let first = slot(start), !first.payload.isEmpty {
            timestamp = first.timestamp
            sequence = scan
        }
        while sequence <= highest {
            guard let slot = slot(sequence) else { break }
            if slot.payload.isEmpty {
                sequence += 1
                // Padding before a frame belongs to none.
                if timestamp == nil { return sequence }
                continue
            }
            if let timestamp, slot.timestamp != timestamp { return sequence }
            timestamp = slot.timestamp
            sequence += 1
            if slot.marker { return sequence }
        }
        scan = sequence
        return nil
    }

    /// Takes a complete run of packets out and makes its frame; nil when it gave none.
    mutating func take(_ range: Range<Int64>) -> AssembledFrame? {
        var payloads = assembling
        assembling = []
        defer { recycle(&payloads) }
        var arrival = Instant.distantPast
        var isRepaired = false
        var timestamp: Int64 = 0
        var codec = lastCodec ?? .vp8
        var marker = false
        for sequence in range {
            guard let slot = release(sequence), !slot.payload.isEmpty else { continue }
            if payloads.isEmpty {
                timestamp = slot.timestamp
                codec = slot.codec
            }
            arrival = max(arrival, slot.arrival)
            isRepaired = isRepaired || slot.isRepair
            marker = marker || slot.marker
            payloads.append(slot.payload)
        }
        consume(upTo: range.upperBound)
        guard !payloads.isEmpty else { return nil }
        let knewParameters = h264.hasParameterSets
        let result =
            switch codec {
            case .h264: h264.assemble(payloads, timestamp: timestamp)
            case .vp8: vp8.assemble(payloads, timestamp: timestamp)
            }
        if !knewParameters, h264.hasParameterSets, let highest, oldest <= highest {
            for sequence in oldest...highest { noteStarts(sequence) }
        }
        switch result {
        case .nothing: return nil
        case .broken:
            statistics.malformed += 1
            interrupt(at: arrival)
            return nil
        case .oversized:
            statistics.oversizedFrames += 1
            interrupt(at: arrival)
            return nil
        case .frame(let frame):
            if !frame.isKeyframe, isAwaitingKeyframe || codec != lastCodec {
                interrupt(at: arrival)
                return nil
            }
            let first = codec == .vp8 ? payloads.first.flatMap { VP8Descriptor.parse($0.span)?.descriptor } : nil
            guard accept(frame, descriptor: first, marker: marker) else { return nil }
            return AssembledFrame(frame: frame, arrival: arrival, isRepaired: isRepaired)
        }
    }

    /// Whether the frame can be decoded.
    private mutating func accept(_ frame: EncodedVideoFrame, descriptor: VP8Descriptor?, marker: Bool) -> Bool {
        lastCodec = frame.codec
        lastEndedWithMarker = marker
        lastVP8 = descriptor
        if frame.isKeyframe {
            isAwaitingKeyframe = false
            wantsKeyframe = false
            isRetry = false
            upperLayersBroken = false
            statistics.keyframes += 1
        } else if frame.temporalLayer > 0, upperLayersBroken {
            guard descriptor?.layerSync == true else {
                statistics.skippedFrames += 1
                return false
            }
            upperLayersBroken = false
        }
        statistics.frames += 1
        return true
    }

    mutating func consume(upTo end: Int64) {
        next = end
        scan = end
        drop(upTo: end)
        statistics.lost += nacks.removeBefore(end)
    }
}
