import Basics
import Conference
import FoundationEssentials
import Streaming
package import WebServer

extension StreamInfo {
    /// A `StreamOut` of the API's description.
    package var json: JSONValue {
        var more: [String: JSONValue?] = [:]
        switch state {
        case .connecting, .live, .ended: break
        case .retrying(let since, let attempts, let reason):
            more = ["since": .date(since), "attempts": .integer(attempts), "reason": .string(reason)]
        case .failed(let reason): more = ["reason": .string(reason)]
        }
        return .object(
            [
                "id": .string(id), "room": .string(room), "url": .string(url), "view": .string(view),
                "keyframeInterval": .number(keyframeInterval.inSeconds), "state": .string(state.name),
                "startedAt": .date(startedAt), "bytes": .integer(bytes), "dropped": .integer(dropped),
            ], where: more)
    }
}

extension InputInfo {
    /// An `Input` of the API's description.
    package var json: JSONValue {
        .object(
            [
                "id": .string(id), "room": .string(room), "participant": .string(participant), "name": .string(name),
                "url": .string(url), "loop": .bool(loops), "state": .string(state.rawValue), "since": .date(since),
            ],
            where: [
                "attempts": attempts > 0 ? .integer(attempts) : nil, "reason": reason.map { .string($0) },
            ])
    }
}
