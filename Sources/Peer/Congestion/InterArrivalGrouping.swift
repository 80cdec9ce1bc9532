import Basics

/// Gathers packets that left together into groups and measures how the gap between groups changed on the way.
///
/// draft-ietf-rmcat-gcc-02 §5.2 "pre-filtering"; numbers as in libwebrtc `inter_arrival_delta.cc`.
struct InterArrivalGrouping: Sendable {
    /// Packets that left within this time of a group's first packet are one group.
    static let sendSpan: Duration = .milliseconds(5)
    /// Packets that arrive this close after each other were held back together and count as one group …
    static let burstGap: Duration = .milliseconds(5)
    /// … as long as the burst is not longer than this.
    static let burstLimit: Duration = .milliseconds(100)
    /// An arrival clock that jumps further than this against ours was reset.
    static let clockJump: Duration = .seconds(3)

    struct Delta: Sendable {
        var send: Duration
        var arrival: Duration
    }

    private struct Group {
        var firstSent: Instant
        var lastSent: Instant
        var firstArrival: Duration
        var lastArrival: Duration
    }

    private var current: Group?
    private var previous: Group?

    /// Takes the next packet in sequence order; returns the change between the two groups that it closed, if any.
    mutating func add(sent: Instant, arrival: Duration) -> Delta? {
        guard var group = current else {
            current = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
            return nil
        }
        // A packet that was overtaken: its group is closed, so it says nothing about the queue.
        guard sent >= group.firstSent else { return nil }
        if belongs(sent: sent, arrival: arrival, to: group) {
            group.lastSent = max(group.lastSent, sent)
            group.lastArrival = max(group.lastArrival, arrival)
            current = group
            return nil
        }
        var delta: Delta?
        if let previous {
            let candidate = Delta(
                send: group.lastSent - previous.lastSent, arrival: group.lastArrival - previous.lastArrival)
            let skew = candidate.arrival - candidate.send
            if skew > Self.clockJump || skew < .zero - Self.clockJump {
                reset()
                current = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
                return nil
            }
            if candidate.arrival >= .zero { delta = candidate }
        }
        previous = group
        current = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
        return delta
    }

    mutating func reset() {
        current = nil
        previous = nil
    }

    private func belongs(sent: Instant, arrival: Duration, to group: Group) -> Bool {
        if sent - group.firstSent <= Self.sendSpan { return true }
        let propagation = (arrival - group.lastArrival) - (sent - group.lastSent)
        return propagation < .zero && arrival - group.lastArrival <= Self.burstGap
            && arrival - group.firstArrival < Self.burstLimit
    }
}
