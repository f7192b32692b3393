package io.snowraft.mybatisplus;

import com.baomidou.mybatisplus.annotation.IdType;
import com.baomidou.mybatisplus.annotation.TableId;
import com.baomidou.mybatisplus.annotation.TableName;

/** The entities of the tests. */
final class Order {
    private Order() {
    }

    @TableName("orders")
    static class Numbered {
        @TableId(type = IdType.ASSIGN_ID)
        Long id;
        String item = "tea";
    }

    @TableName("orders")
    static class Texted {
        @TableId(type = IdType.ASSIGN_ID)
        String id;
        String item = "tea";
    }
}
