import Foundation

/// The messages of the server's signalling that the soak test handles.
enum SoakMessage: Sendable {
    struct Claim: Sendable {
        var id: String
        var secret: String
    }

    /// The tile of one participant, in fractions of the canvas.
    struct Tile: Sendable {
        var participant: String
        var area: LipWatch.Area
    }

    case joined(id: String, resume: Claim?)
    case answer(String)
    case tiles([Tile])
    case left(String)
    case error(code: String, message: String, fatal: Bool)
    case other

    init(json: Data) {
        let object = (try? JSONSerialization.jsonObject(with: json)) as? [String: Any] ?? [:]
        func text(_ key: String, in members: [String: Any]? = nil) -> String {
            (members ?? object)[key] as? String ?? ""
        }
        switch text("type") {
        case "joined":
            let you = object["you"] as? [String: Any] ?? [:]
            let resume = you["resume"] as? [String: Any]
            self = .joined(
                id: text("id", in: you),
                resume: resume.map { Claim(id: text("id", in: $0), secret: text("secret", in: $0)) })
        case "answer": self = .answer(text("sdp"))
        case "tiles": self = .tiles(Self.tiles(object))
        case "left": self = .left(text("reason"))
        case "error":
            self = .error(code: text("code"), message: text("message"), fatal: object["fatal"] as? Bool ?? false)
        default: self = .other
        }
    }

    private static func tiles(_ object: [String: Any]) -> [Tile] {
        func number(_ members: [String: Any], _ key: String) -> Double { (members[key] as? NSNumber)?.doubleValue ?? 0 }
        let width = max(number(object, "width"), 1), height = max(number(object, "height"), 1)
        return (object["tiles"] as? [[String: Any]] ?? []).map { tile in
            Tile(
                participant: tile["participant"] as? String ?? "",
                area: LipWatch.Area(
                    x: number(tile, "x") / width, y: number(tile, "y") / height, width: number(tile, "width") / width,
                    height: number(tile, "height") / height))
        }
    }
}
