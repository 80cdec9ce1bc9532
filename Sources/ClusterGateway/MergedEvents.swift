import Admission
import AsyncHTTPClient
import Basics
import Cluster
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import Threads
import WebServer

/// One reader's stream of the events of all nodes.
///
/// Each node is read only as fast as the reader takes events: one waits for each node. A node whose stream ends is asked
/// again, from the last event on.
struct MergedEvents: Sendable {
    let front: ClusterFront
    let asked: RouteRequest
    /// The stream of this node.
    let own: ResponseBody
    /// The rooms of all nodes, for `reset`.
    let rooms: @Sendable (RouteRequest) async -> [JSONValue]

    /// The longest event of a node. A room's state of 200 people has a tenth of it.
    private static let maxEventBytes = 1 << 20
    /// Between two requests of the same node, and between two looks at which nodes there are.
    private static let pause = Duration.seconds(2)
    /// Resets of several nodes within this time become one.
    private static let gather = Duration.milliseconds(500)
    private static let life = Duration.seconds(3600)
    private static let heartbeat = Duration.seconds(15)

    private enum Item: Sendable {
        case event(EventID, json: String)
        /// A node's stream begins anew: what the reader knows of it is not complete.
        case reset(EventID, json: String)
        case tick
    }

    /// Takes a node's items one at a time: `send` returns when the reader has taken the item.
    private final class Channel: Sendable {
        private let items: AsyncStream<(Item, CheckedContinuation<Bool, Never>?)>
        private let sender: AsyncStream<(Item, CheckedContinuation<Bool, Never>?)>.Continuation

        init() { (items, sender) = AsyncStream.makeStream() }

        func send(_ item: Item) async -> Bool {
            await withCheckedContinuation { taken in
                if case .enqueued = sender.yield((item, taken)) { return }
                taken.resume(returning: false)
            }
        }

        func tick() { sender.yield((.tick, nil)) }

        /// Passes items to `body` until it returns false, or the task is cancelled.
        func run(_ body: (Item) async throws -> Bool) async throws {
            defer { Task { await close() } }
            for await (item, taken) in items {
                let goesOn: Bool
                do {
                    goesOn = try await body(item)
                } catch {
                    taken?.resume(returning: false)
                    throw error
                }
                taken?.resume(returning: goesOn)
                if !goesOn { return }
            }
        }

        /// Answers what still waits.
        private func close() async {
            sender.finish()
            for await (_, taken) in items { taken?.resume(returning: false) }
        }
    }

    func write(to writer: inout any ResponseBodyWriter) async throws {
        let channel = Channel()
        let begin = EventCursor(asked.headers[.lastEventID] ?? asked.query("lastEventId") ?? "")
        let cursor = Guarded(begin)
        let readers = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await readHere(channel) }
                group.addTask { await follow(channel, cursor) }
                group.addTask {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: .milliseconds(250))
                        channel.tick()
                    }
                }
            }
        }
        defer { readers.cancel() }
        let start = MonotonicClock.now()
        var written = start
        // A reset that waits for those of other nodes.
        var reset: (at: Instant, id: EventID, json: String)?
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        var out = writer
        try await channel.run { item in
            let now = MonotonicClock.now()
            switch item {
            case .event(let id, let json):
                cursor.withLock { $0.note(id) }
                // What happens before the state is told is in the state.
                if reset == nil {
                    try await out.write(Self.text(cursor.withLock { $0 }, json))
                    written = now
                }
            case .reset(let id, let json):
                cursor.withLock { $0.note(id) }
                reset = (reset?.at ?? now, id, json)
            case .tick:
                if let waiting = reset, now - waiting.at >= Self.gather {
                    reset = nil
                    let json = await state(waiting.json)
                    try await out.write(Self.text(cursor.withLock { $0 }, json))
                    written = now
                } else if now - written >= Self.heartbeat {
                    try await out.write(ByteBuffer(string: ":\n\n"))
                    written = now
                }
            }
            return now - start < Self.life
        }
        try await writer.finish(nil)
    }

    /// A node's reset with the rooms of all nodes.
    private func state(_ json: String) async -> String {
        guard let value = try? JSON.decode(JSONValue.self, from: Array(json.utf8)) else { return json }
        var rooms = await rooms(asked)
        if let only = asked.query("room") { rooms = rooms.filter { $0["id"] == .string(only) } }
        return String(decoding: value.with("data", ["rooms": .array(rooms)]).bytes, as: UTF8.self)
    }

    private static func text(_ cursor: EventCursor, _ json: String) -> ByteBuffer {
        ByteBuffer(string: "id: \(cursor)\ndata: \(json)\n\n")
    }

    // MARK: The nodes

    private func readHere(_ channel: Channel) async {
        var parser = EventParser(maxBytes: Self.maxEventBytes)
        try? await own.write(
            EventSink { bytes in
                for event in try parser.take(bytes) { guard await channel.send(Self.item(event)) else { throw Gone() } }
            })
    }

    private struct Gone: Error {}

    /// Reads every other node, also those that come later.
    private func follow(_ channel: Channel, _ cursor: Guarded<EventCursor>) async {
        let reading = Guarded<Set<String>>([])
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                for node in front.others where reading.withLock({ $0.insert(node.incarnation).inserted }) {
                    group.addTask {
                        await read(node, channel, cursor)
                        try? await Task.sleep(for: Self.pause)
                        reading.withLock { _ = $0.remove(node.incarnation) }
                    }
                }
                do { try await Task.sleep(for: Self.pause) } catch { return }
            }
        }
    }

    private func read(_ node: NodeRecord, _ channel: Channel, _ cursor: Guarded<EventCursor>) async {
        var request = front.request(to: node, asked.request.uri.string, for: asked, passes: { $0 == .authorization })
        let last = cursor.withLock { $0.description }
        if !last.isEmpty { request.headers.add(name: "last-event-id", value: last) }
        guard case .answer(let answer) = await front.peers.send(request, to: node, within: .seconds(5)),
            answer.status == .ok
        else { return front.metrics.count(.events, .unanswered) }
        front.metrics.count(.events, .done)
        var parser = EventParser(maxBytes: Self.maxEventBytes)
        do {
            for try await bytes in answer.body {
                for event in try parser.take(bytes) { guard await channel.send(Self.item(event)) else { return } }
            }
        } catch {
            // The node is gone, or its answer is invalid: it is asked again while it is registered.
        }
    }

    private static func item(_ event: (id: EventID, json: String)) -> Item {
        event.json.contains(#""type":"reset""#)
            ? .reset(event.id, json: event.json) : .event(event.id, json: event.json)
    }
}

/// Cuts a stream of server-sent events, as `EventStream` writes it, into events.
struct EventParser: Sendable {
    struct TooLong: Error {}

    private let maxBytes: Int
    private var rest: [UInt8] = []

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// - Throws: `TooLong` for an event above the limit.
    mutating func take(_ bytes: ByteBuffer) throws(TooLong) -> [(id: EventID, json: String)] {
        var events: [(id: EventID, json: String)] = []
        var start = rest.count
        rest += bytes.readableBytesView
        var begin = 0
        while start < rest.count {
            if rest[start] == 10, start > begin, rest[start - 1] == 10 {
                if let event = Self.event(rest[begin..<start]) { events.append(event) }
                begin = start + 1
            }
            start += 1
        }
        rest.removeSubrange(..<begin)
        guard rest.count <= maxBytes else { throw TooLong() }
        return events
    }

    private static func event(_ bytes: ArraySlice<UInt8>) -> (id: EventID, json: String)? {
        var id: EventID?
        var json: String?
        for line in bytes.split(separator: 10) {
            let text = String(decoding: line, as: UTF8.self)
            if text.hasPrefix("id: ") { id = EventID(String(text.dropFirst(4))) }
            if text.hasPrefix("data: ") { json = String(text.dropFirst(6)) }
        }
        guard let id, let json else { return nil }
        return (id, json)
    }
}

/// Passes what a stream writes to a closure.
private struct EventSink: ResponseBodyWriter {
    var take: (ByteBuffer) async throws -> Void
    mutating func write(_ buffer: ByteBuffer) async throws { try await take(buffer) }
    consuming func finish(_ trailers: HTTPFields?) async throws {}
}
