import Basics

/// A key of the store.
enum StoreKey: Hashable, Sendable {
    /// `nodes/<id>`: a node's record, with its lease.
    case node(String)
    /// `load/<id>`: what it has to do, with its lease.
    case load(String)
    /// `owners/<room>`: who has a room, with the owner's lease.
    case owner(String)
    /// `rooms/<room>`: a room's state for its next owner, without a lease.
    case room(String)
    /// `layouts/<name>`: a layout that was put at run time, without a lease.
    case layout(String)

    static let prefix = "/tessera/1/"

    /// The key as the store has it; ids and rooms are percent-encoded.
    var text: String {
        switch self {
        case .node(let id): Self.prefix + "nodes/" + Self.encoded(id)
        case .load(let id): Self.prefix + "load/" + Self.encoded(id)
        case .owner(let room): Self.prefix + "owners/" + Self.encoded(room)
        case .room(let room): Self.prefix + "rooms/" + Self.encoded(room)
        case .layout(let name): Self.prefix + "layouts/" + Self.encoded(name)
        }
    }

    /// nil for keys that are none of ours.
    init?(_ text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let parts = text.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let name = Self.decoded(String(parts[1]).utf8) else { return nil }
        switch parts[0] {
        case "nodes": self = .node(name)
        case "load": self = .load(name)
        case "owners": self = .owner(name)
        case "rooms": self = .room(name)
        case "layouts" where LayoutDocument.isName(name): self = .layout(name)
        default: return nil
        }
    }

    private static func encoded(_ name: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, 45, 46, 95, 126: bytes.append(byte)
            default: bytes += [37, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func decoded(_ text: String.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == 37 else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A range of keys.
enum StoreArea: Hashable, Sendable {
    /// What the nodes have a copy of: `load/`, `nodes/` and `owners/`, which are neighbours in the order of keys.
    case followed
    /// `rooms/`.
    case rooms
    /// `layouts/`.
    case layouts
    /// What the nodes watch: `layouts/` and, right behind it, what they have a copy of.
    case watched

    var begin: String {
        switch self {
        case .followed: StoreKey.prefix + "load/"
        case .rooms: StoreKey.prefix + "rooms/"
        case .layouts, .watched: StoreKey.prefix + "layouts/"
        }
    }

    /// The first key behind it: `0` follows `/`.
    var end: String {
        switch self {
        case .followed, .watched: StoreKey.prefix + "owners0"
        case .rooms: StoreKey.prefix + "rooms0"
        case .layouts: StoreKey.prefix + "layouts0"
        }
    }
}
