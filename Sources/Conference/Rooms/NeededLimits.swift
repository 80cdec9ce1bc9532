import Basics
import RoomMedia

extension Room {
    /// The limits of each sender: what the largest tile of each of its pictures needs.
    func neededLimits(_ views: some Sequence<TilesInfo>) -> [String: SenderLimits] {
        var largest: [String: TilesInfo.Tile] = [:]
        for view in views {
            for tile in view.tiles {
                let known = largest[tile.picture]
                if known.map({ $0.width * $0.height < tile.width * tile.height }) ?? true {
                    largest[tile.picture] = tile
                }
            }
        }
        func limit(_ picture: String, isPresenting: Bool) -> SenderLimit {
            let tile = largest[picture]
            return SenderLimit(
                rate: TileBitRate.rate(area: tile.map { $0.width * $0.height }, isPresenting: isPresenting),
                height: tile?.height)
        }
        var limits: [String: SenderLimits] = [:]
        for member in members where member.kind == .participant {
            var needed = SenderLimits(
                camera: limit(member.id, isPresenting: member.isPresenting && !member.sendsScreenBeside))
            if member.sendsScreenBeside { needed.screen = limit(PictureID.screen(of: member.id), isPresenting: true) }
            limits[member.id] = needed
        }
        return limits
    }
}

extension SenderLimits {
    /// Whether the rate of one of the pictures is by more than a tenth another one than in `old`.
    func differs(from old: SenderLimits?) -> Bool {
        func differs(_ new: BitRate, _ old: BitRate) -> Bool {
            abs(new.bitsPerSecond - old.bitsPerSecond) * 10 > old.bitsPerSecond
        }
        return differs(camera.rate, old?.camera.rate ?? .zero) || differs(screen.rate, old?.screen.rate ?? .zero)
    }
}
