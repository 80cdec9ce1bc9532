import Basics

/// How long repair is waited for, and how the stream goes on without it: over droppable frames, or at the next keyframe.
extension VideoReceiveBuffer {
    /// How long a gap may be waited for: long enough for five tries, within the limits. At 10 % loss each way a try fails once in five,
    /// and a keyframe would take a round trip too and lose packets of its own.
    var hold: Duration {
        let wanted = max(configuration.minimumHold, roundTrip * 5 + .milliseconds(40)) + nacks.reorderDelay
        let limit = min(max(configuration.maximumHold, roundTrip * 2.5), configuration.maximumHoldOnLongPaths)
        return min(wanted, limit)
    }

    var mayRequestKeyframe: Bool {
        guard wantsKeyframe || isAwaitingKeyframe && highest != nil else { return false }
        // One is on its way in.
        return !(isAwaitingKeyframe && next != nil)
    }

    var nextKeyframeRequest: Instant? {
        if lastKeyframeRequest == nil, statistics.keyframes == 0 { return firstArrival + Self.startGrace }
        return lastKeyframeRequest.map { $0 + (isRetry ? keyframeRetry : configuration.keyframeRequestGap) }
    }

    /// The first missing packet that holds up the next frame; nil when none does.
    var headGap: NackList.Entry? { next.flatMap { nacks.first(from: $0) } }

    /// When it is given up. As long as the repairs of its burst come in, one after another as the sender's pacing lets them go, the rest of
    /// them is there sooner than a keyframe.
    var headDeadline: Instant? {
        headGap.map { gap in
            let deadline = gap.noticed + hold
            guard let lastRepair, lastRepair.noticed == gap.noticed else { return deadline }
            return max(deadline, min(lastRepair.at + roundTrip, gap.noticed + configuration.maximumHoldOnLongPaths))
        }
    }

    /// When its first repair has failed and there is no time for a third: the keyframe that may be needed then is asked for at
    /// once, and whichever comes first goes on. Waiting first would add a round trip to the freeze.
    var hedgeDeadline: Instant? {
        guard let gap = headGap, hold < nacks.reorderDelay + roundTrip * 3, gap.sequence != hedged, droppableGapEnd() == nil
        else {
            return nil
        }
        return gap.noticed + nacks.reorderDelay + roundTrip * 1.25
    }

    /// A lost request, or a lost answer, costs no more than its own way and what an encoder and a pacer take.
    private var keyframeRetry: Duration {
        min(max(roundTrip * 2 + .milliseconds(300), configuration.keyframeRequestGap), configuration.keyframeRetry)
    }

    mutating func giveUp(at now: Instant) {
        if let resume = droppableGapEnd() {
            statistics.skippedFrames += 1
            upperLayersBroken = true
            consume(upTo: resume)
            return
        }
        interrupt(at: now)
    }

    /// Stands still from here on: drops all before the next keyframe's start, which may be here already.
    mutating func interrupt(at now: Instant) {
        if !isAwaitingKeyframe { statistics.interruptions += 1 }
        isAwaitingKeyframe = true
        wantsKeyframe = true
        isRetry = false
        if let current = next {
            // The keyframe that failed must not be found again: leave it with all up to the gap.
            let entry = nacks.first(from: current)
            drop(upTo: max(current, (entry?.sequence ?? current - 1) + 1))
            statistics.lost += nacks.removeBefore(oldest)
        }
        next = nil
        findKeyframe()
    }

    /// The start of the first whole VP8 frame after the gap.
    func vp8FrameStart(after sequence: Int64) -> (sequence: Int64, descriptor: VP8Descriptor)? {
        guard let start = vp8FrameStarts.first(from: sequence), let slot = slot(start),
            let descriptor = VP8Descriptor.parse(slot.payload.span)?.descriptor
        else { return nil }
        return (start, descriptor)
    }

    /// Steps over lost padding: the missing packets lie between two frames whose picture ids follow one another.
    mutating func skipPadding() -> Bool {
        guard !isAwaitingKeyframe, let start = next, slot(start) == nil, lastCodec == .vp8, lastEndedWithMarker,
            let last = lastVP8,
            let lastID = last.pictureID, let (sequence, descriptor) = vp8FrameStart(after: start),
            let id = descriptor.pictureID, descriptor.hasLongPictureID == last.hasLongPictureID
        else { return false }
        let mask: UInt16 = last.hasLongPictureID ? 0x7FFF : 0x7F
        guard (lastID &+ 1) & mask == id else { return false }
        consume(upTo: sequence)
        return true
    }

    /// A whole keyframe behind the gap ends the wait: what is missing before it would only come late.
    mutating func skipToKeyframe() -> Bool {
        guard let start = next, let keyframe = keyframeStarts.last, keyframe > start, isWhole(from: keyframe)
        else { return false }
        if let gap = headGap, gap.sequence < keyframe { statistics.skippedFrames += 1 }
        consume(upTo: keyframe)
        return true
    }

    /// Where to go on over a gap that took only frames that no later base-layer frame refers to; nil when one may.
    func droppableGapEnd() -> Int64? {
        guard !isAwaitingKeyframe, lastCodec == .vp8, let start = next, let gap = nacks.first(from: start),
            let (sequence, descriptor) = vp8FrameStart(after: gap.sequence), let last = lastVP8
        else { return nil }
        if let lastZero = last.temporalLevelZeroIndex, let zero = descriptor.temporalLevelZeroIndex,
            let layer = descriptor.temporalLayer
        {
            // The base layer's counter shows that no base frame is missing.
            return zero == (layer == 0 ? lastZero &+ 1 : lastZero) ? sequence : nil
        }
        // Without layers: the broken frame itself says that nothing refers to it, and no other is missing.
        guard let broken = slot(start), broken.startsVP8Frame, let own = VP8Descriptor.parse(broken.payload.span)?.descriptor,
            own.isNonReference, let ownID = own.pictureID, let id = descriptor.pictureID
        else { return nil }
        let mask: UInt16 = own.hasLongPictureID ? 0x7FFF : 0x7F
        return (ownID &+ 1) & mask == id ? sequence : nil
    }
}
