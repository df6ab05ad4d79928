//! Verbs of other languages, for names and descriptions that are not English.
//!
//! Languages without spaces are searched for the words themselves; of the others only whole words count.
//! Small on purpose: the commonest verbs of tool descriptions. What is not here falls to the other rules,
//! never to Read.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Class;

/// Words of scripts without spaces, the longer first where one holds another.
const UNSPACED: &[(Class, &str)] = &[
    (
        Class::Read,
        "获取 查询 搜索 列出 查看 读取 检索 查找 返回 分析 计算 检查 显示 验证 取得 検索 一覧 表示 参照 確認 查詢 取得 搜尋 列出 讀取 計算 \
         조회 검색 목록 가져오 읽기 확인 분석",
    ),
    (
        Class::Write,
        "创建 更新 修改 添加 设置 新增 编辑 保存 上传 写入 插入 重命名 移动 生成 作成 追加 変更 編集 保存 設定 建立 新增 更新 修改 \
         생성 추가 수정 업데이트 설정 저장 변경",
    ),
    (
        Class::Execute,
        "执行 运行 发送 启动 停止 部署 触发 调用 安装 実行 送信 起動 執行 發送 啟動 실행 전송 보내기 시작",
    ),
    (Class::Destructive, "删除 清空 销毁 移除 卸载 削除 消去 刪除 清除 삭제 제거"),
    (Class::Financial, "支付 付款 转账 退款 购买 下单 決済 支払 送金 返金 購入 결제 환불 송금"),
];

/// Words of scripts with spaces, folded to lower case.
const SPACED: &[(Class, &str)] = &[
    (
        Class::Read,
        "obtener obtiene listar lista buscar busca consultar consulta leer lee mostrar muestra recupera recuperar \
         busque retorna retornar ler mostra verificar obter pesquisar \
         obtenir récupérer récupère lister rechercher recherche afficher lire \
         abrufen auflisten suchen anzeigen lesen holen prüfen zeigt listet liest sucht \
         получить получает найти поиск показать список чтение получение \
         hämta hämtar sök söker lista läs ottieni cerca elenca leggi mostra ophalen zoeken lezen pobierz wyszukaj \
         listele listeler getir getirir ara oku göster goster gösterir görüntüle listesi döndürür bul ozet özet detay",
    ),
    (
        Class::Write,
        "crear crea actualizar actualiza modificar modifica agregar agrega añadir añade guardar editar \
         criar cria atualizar atualiza adicionar adiciona salvar \
         créer crée ajouter ajoute modifier modifie mettre enregistrer \
         erstellen erstellt aktualisieren ändern hinzufügen speichern anlegen schreiben \
         создать создает создаёт обновить изменить добавить сохранить \
         skapa skapar uppdatera uppdaterar ändra spara aggiorna aggiungi aanmaken bijwerken toevoegen \
         utwórz dodaj zaktualizuj reactivar reactiva \
         olustur oluştur oluşturur guncelle güncelle günceller ekle ekler kaydet duzenle düzenle düzenler ayarla ayarlar aktarma aktar değiştirir degistir taşır",
    ),
    (
        Class::Execute,
        "ejecutar ejecuta enviar envía envia iniciar detener executar executa \
         exécuter exécute envoyer envoie lancer démarrer \
         ausführen starten senden sendet stoppen führt \
         выполнить выполняет отправить запустить остановить \
         skicka skickar kör starta stoppa invia esegui avvia verzenden uitvoeren wyślij uruchom cancelar cancela \
         calistir çalıştır gonder gönder baslat başlat durdur",
    ),
    (
        Class::Destructive,
        "eliminar elimina borrar borra excluir exclui apagar remover supprimer supprime effacer \
         radera raderar cancella verwijderen usuń löschen löscht entfernen удалить удаляет sil siler kaldir kaldır kaldırır temizle",
    ),
    (
        Class::Financial,
        "pagar paga reembolsar comprar transferir payer rembourser acheter virer bezahlen erstatten kaufen \
         überweisen оплатить купить перевести ode öde satin",
    ),
];

/// Words by which something is managed, which says nothing of the effect.
const MANAGING: &[&str] = &[
    "管理",
    "관리",
    "gestiona",
    "gerencia",
    "gérer",
    "gère",
    "gestisci",
    "verwalt",
    "hantera",
    "управл",
    "yönet",
];

/// Whether the text says that something is managed, in another language than English.
pub(crate) fn says_manage(text: &str) -> bool {
    let text = text.to_lowercase();
    MANAGING.iter().any(|word| text.contains(word))
}

/// Each foreign verb in `text` (lower case): class, start, end; in the order of the text.
pub(crate) fn foreign_verbs(text: &str, found_max: usize) -> Vec<(Class, usize, usize)> {
    let mut found = Vec::new();
    if text.is_ascii() {
        spaced(text, &mut found);
    } else {
        unspaced(text, &mut found);
        spaced(text, &mut found);
    }
    found.sort_by_key(|(_, start, end)| (*start, std::cmp::Reverse(*end)));
    found.truncate(found_max);
    found
}

fn unspaced(text: &str, found: &mut Vec<(Class, usize, usize)>) {
    for (class, words) in UNSPACED {
        for word in words.split_whitespace() {
            if let Some(start) = text.find(word) {
                found.push((*class, start, start + word.len()));
            }
        }
    }
}

static BY_WORD: LazyLock<HashMap<&'static str, Class>> = LazyLock::new(|| {
    let words =
        SPACED.iter().flat_map(|(class, words)| words.split_whitespace().map(move |word| (word, *class)));
    words.collect()
});

/// Only so many words of a text are looked at: verbs stand at the front.
const WORDS_MAX: usize = 40;

fn spaced(text: &str, found: &mut Vec<(Class, usize, usize)>) {
    for token in super::split_text(text, WORDS_MAX) {
        if let Some(class) = BY_WORD.get(token.text.as_str()) {
            found.push((*class, token.start, token.end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<Class> {
        foreign_verbs(text, 4).first().map(|found| found.0)
    }

    #[test]
    fn verbs_of_several_scripts_are_found() {
        assert_eq!(first("删除一个角色"), Some(Class::Destructive));
        assert_eq!(first("执行SQL查询"), Some(Class::Execute));
        assert_eq!(first("ファイルを削除する"), Some(Class::Destructive));
        assert_eq!(first("crea una nueva tarea"), Some(Class::Write));
        assert_eq!(first("удаляет файл"), Some(Class::Destructive));
        assert_eq!(first("a plain english line"), None);
    }
}
