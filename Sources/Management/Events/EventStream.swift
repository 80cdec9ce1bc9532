import Admission
import Basics
import Conference
import FoundationEssentials
import Hummingbird
import NIOCore
import Threads
import WebServer

/// One reader's stream of server-sent events (WHATWG HTML §9.2), from its connection to its end.
///
/// The stream takes events from the bus as fast as the reader takes bytes: a reader that stops holds one page of events
/// and the connection's buffer, and is cut by `ConnectionGuard`. One that falls behind the bus's memory gets `reset`.
struct EventStream: Sendable {
    let bus: EventBus
    let filter: EventFilter
    /// The last event that the reader has; nil: it begins.
    let last: EventID?
    /// Whether the reader may see events that outsiders of a room may not. Asked again for each page that has some,
    /// since the right can end before the stream does.
    let mayReadPrivate: @Sendable () async -> Bool
    /// What exists now: the data of `reset`.
    let state: @Sendable () async -> JSONValue
    /// Whether the reader may see events with what only readers of recordings may know; asked likewise.
    var mayReadRecordings: @Sendable () async -> Bool = { false }
    var timing = Timing()
    /// The stream ends when the reader's place is lost; the reader then comes again.
    var place: SharedLimit.Permit?

    struct Timing: Sendable {
        /// The longest silence: proxies end connections after 30 s or a minute of it.
        var heartbeat = Duration.seconds(15)
        /// The reader then comes again with its credentials, which may have ended meanwhile.
        var life = Duration.seconds(3600)
        /// When the reader comes again, in milliseconds.
        var retry = 2000
    }

    private static let pageLength = 100

    func write(to writer: inout any ResponseBodyWriter) async throws {
        let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let subscription = bus.subscribe(to: filter.kinds) { waker.yield() }
        place?.onLoss { waker.finish() }
        let beats = Task { [timing] in
            while !Task.isCancelled {
                try? await Task.sleep(for: timing.heartbeat)
                waker.yield()
            }
        }
        defer {
            beats.cancel()
            withExtendedLifetime(subscription) {}
        }
        try await writer.write(ByteBuffer(string: "retry: \(timing.retry)\n\n"))
        var position = last.flatMap { $0.epoch == bus.epoch ? $0.sequence : nil }
        let start = MonotonicClock.now()
        var written = start
        waker.yield()
        for await _ in wakes {
            var isLast = false
            while let page = try await writePage(after: &position, to: &writer) {
                if page.hasWritten { written = MonotonicClock.now() }
                isLast = page.isLast
                if page.isLast { break }
            }
            let now = MonotonicClock.now()
            if isLast || now - start >= timing.life { break }
            if now - written >= timing.heartbeat {
                try await writer.write(ByteBuffer(string: ":\n\n"))
                written = now
            }
        }
        try await writer.finish(nil)
    }

    /// Writes the next events. Returns nil where there are none.
    private func writePage(
        after position: inout Int?, to writer: inout any ResponseBodyWriter
    ) async throws -> (hasWritten: Bool, isLast: Bool)? {
        guard let known = position else {
            let now = bus.last
            try await writer.write(await reset(at: now))
            position = now
            return (true, false)
        }
        let page = bus.page(after: known, limit: Self.pageLength)
        if page.isLate {
            position = nil
            return (false, false)
        }
        let passing = page.events.filter { filter.passes($0.event) }
        var mayRead = true
        if passing.contains(where: \.event.isPrivate) { mayRead = await mayReadPrivate() }
        var bytes = ByteBuffer()
        var mayReadRecordings = true
        if passing.contains(where: \.event.happening.saysWhereRecordingsGo) {
            mayReadRecordings = await self.mayReadRecordings()
        }
        for event in passing
        where (mayRead || !event.event.isPrivate)
            && (mayReadRecordings || !event.event.happening.saysWhereRecordingsGo)
        {
            bytes.writeEvent(EventID(epoch: bus.epoch, sequence: event.event.sequence), event.text(bus.epoch))
        }
        if bytes.readableBytes > 0 { try await writer.write(bytes) }
        position = page.events.last?.event.sequence ?? known
        if page.isLast { return (true, true) }
        return page.events.isEmpty ? nil : (bytes.readableBytes > 0, false)
    }

    /// Tells the reader to forget what it knows: it begins, or missed events that are not in memory any more.
    private func reset(at position: Int) async -> ByteBuffer {
        let id = EventID(epoch: bus.epoch, sequence: position)
        let event = ServerEvent.envelope(id, type: "reset", at: Date(), room: filter.room, await state())
        var bytes = ByteBuffer()
        bytes.writeEvent(id, event.bytes)
        return bytes
    }
}

extension ByteBuffer {
    /// The JSON has no line ends.
    fileprivate mutating func writeEvent(_ id: EventID, _ json: [UInt8]) {
        writeString("id: \(id)\ndata: ")
        writeBytes(json)
        writeString("\n\n")
    }
}
